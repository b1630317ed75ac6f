// Sorts the table by a column: a click on its head, or Enter. The page is complete without it.
for (const table of document.querySelectorAll("table.trials")) {
  table.classList.add("sortable");
  const heads = [...table.tHead.rows[0].cells];
  const key = (row, column) => {
    const { dataset, textContent } = row.cells[column];
    return dataset.key === undefined ? textContent : Number(dataset.key);
  };
  const sort = (column) => {
    const up = heads[column].getAttribute("aria-sort") !== "ascending";
    for (const head of heads) head.removeAttribute("aria-sort");
    heads[column].setAttribute("aria-sort", up ? "ascending" : "descending");
    const rows = [...table.tBodies[0].rows];
    rows.sort((a, b) => {
      const [x, y] = [key(a, column), key(b, column)];
      if (x === "" || y === "") return (x === "") - (y === ""); // empty cells stay last
      const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
      return up ? order : -order;
    });
    table.tBodies[0].append(...rows);
  };
  heads.forEach((head, column) => {
    head.tabIndex = 0;
    head.addEventListener("click", () => sort(column));
    head.addEventListener("keydown", (event) => event.key === "Enter" && sort(column));
  });
}
