// The page is complete without this script.

// Reads a chart under the pointer.
for (const plot of document.querySelectorAll(".plot")) {
  const series = [...plot.querySelectorAll("path[data-x]")].map((path) => ({
    name: path.dataset.name,
    x: path.dataset.x.split(" ").map(Number),
    y: path.dataset.y.split(" "),
  }));
  const { from, to, unit } = plot.dataset;
  const width = Number(to) - Number(from);
  if (!series.length || !(width > 0)) continue;

  const reading = document.createElement("div");
  reading.className = "reading";
  reading.hidden = true;
  const text = document.createElement("span");
  reading.append(text);
  plot.append(reading);

  const nearest = (xs, x) =>
    xs.reduce((best, other, i) => (Math.abs(other - x) < Math.abs(xs[best] - x) ? i : best), 0);

  plot.addEventListener("pointermove", (event) => {
    const box = plot.getBoundingClientRect();
    const at = Number(from) + (width * (event.clientX - box.left)) / box.width;
    const mark = series[0].x[nearest(series[0].x, at)];
    const lines = series.map(({ name, x, y }) => {
      const i = nearest(x, mark);
      const where = x[i] === mark ? "" : ` at ${x[i].toLocaleString("en")}`;
      return `${name} ${y[i]}${where}`;
    });
    text.textContent = [`${unit} ${mark.toLocaleString("en")}`, ...lines].join("\n");
    const share = (mark - Number(from)) / width;
    reading.style.left = `${100 * share}%`;
    reading.classList.toggle("left", share > 0.5);
    reading.hidden = false;
  });
  plot.addEventListener("pointerleave", () => (reading.hidden = true));
}

// Sorts a table by a column: a click on its head, or Enter.
for (const table of document.querySelectorAll("table.sortable")) {
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
