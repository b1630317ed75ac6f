#!/usr/bin/env python3
"""Prints what TensorBoard reads in a folder, as JSON: scalars as [step, value], and the names of the other kinds."""
import json
import sys

from tensorboard.backend.event_processing import event_accumulator
from tensorboard.plugins.pr_curve import metadata as pr_curve
from tensorboard.util import tensor_util

events = event_accumulator.EventAccumulator(sys.argv[1], size_guidance={
    event_accumulator.SCALARS: 0, event_accumulator.TENSORS: 0, event_accumulator.HISTOGRAMS: 0})
events.Reload()
tags = events.Tags()
scalars = {tag: [[e.step, e.value] for e in events.Scalars(tag)] for tag in tags["scalars"]}
texts = {}
curves = {}
for tag in tags["tensors"]:
    plugin = events.SummaryMetadata(tag).plugin_data
    value = tensor_util.make_ndarray(events.Tensors(tag)[-1].tensor_proto)
    if plugin.plugin_name == pr_curve.PLUGIN_NAME:
        curves[tag] = [pr_curve.parse_plugin_metadata(plugin.content).num_thresholds, value.tolist()]
    else:
        texts[tag] = [plugin.plugin_name, value.tolist()[0].decode() if value.ndim else value.item().decode()]
histograms = {tag: [e.step for e in events.Histograms(tag)] for tag in tags["histograms"]}
print(json.dumps({"scalars": scalars, "texts": texts, "curves": curves, "histograms": histograms}))
