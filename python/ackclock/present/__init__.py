"""
Presentation: text, tables, figures, reports, the command line and the page.

Results declare what they show (`core.accessors`); here stands which function shows it. A function takes the result, and
the method's arguments by their names.
"""

from __future__ import annotations

from ..core.accessors import register

_PLACES = {
    "Answer.sentence": "text.stability:sentence",
    "Answer.unsafe": "text.stability:unsafe",
    "Assumption.__str__": "text.stability:assumption",
    "Buffer.__str__": "text.buffer:text",
    "Buffer.draw": "plot.buffer:write",
    "Buffer.sentences": "text.buffer:sentences",
    "Buffer.plot": "plot.buffer:utilization",
    "Buffer.plot_delay": "plot.buffer:delay",
    "BifurcationDiagram.plot": "plot.stability:bifurcation_diagram",
    "Branch.plot": "plot.stability:branch",
    "Chart.plot": "plot.stability:chart",
    "Comparison.__str__": "text.compare:text",
    "Comparison.plot": "plot.comparison:figure",
    "Curve.plot": "plot.stability:hopf_curve",
    "Cycle.sentence": "text.stability:cycle",
    "Difference.__str__": "text.stability:difference",
    "Disagreement.sentence": "text.compare:sentence",
    "Discrepancy.sentences": "text.stability:discrepancy",
    "Evaluation.__str__": "text.evaluate:text",
    "Evaluation.report": "report.evaluate:report",
    "Fair.__str__": "text.fair:text",
    "Fair.draw": "plot.fair:write",
    "Fair.plot": "plot.fair:share_map",
    "FluidResult._repr_html_": "text.results:fluid_html",
    "FluidResult.plot_loss": "plot.stability:probabilities",
    "FluidResult.plot_queue": "plot.stability:queues",
    "FluidResult.plot_windows": "plot.stability:windows",
    "Hysteresis.__str__": "text.measured:hysteresis",
    "LargeSignal.swing": "text.stability:swing",
    "MeanFieldResult._repr_html_": "text.results:mean_field_html",
    "MeanFieldResult.plot_density": "plot.meanfield:density",
    "MeanFieldResult.plot_loss": "plot.meanfield:loss",
    "MeanFieldResult.plot_queue": "plot.meanfield:queue",
    "MeanFieldResult.plot_rates": "plot.meanfield:utilization",
    "MeanFieldResult.plot_stationary": "plot.meanfield:stationary",
    "MeanFieldResult.plot_windows": "plot.meanfield:windows",
    "MeasuredLimit.__str__": "text.measured:limit",
    "PacketCheck.sentence": "text.stability:packet_check",
    "PhasePortrait.plot": "plot.stability:phase_portrait",
    "Replications.__str__": "text.results:replications_text",
    "Replications._repr_html_": "text.results:replications_html",
    "Result.__str__": "text.results:run_text",
    "Result._repr_html_": "text.results:run_html",
    "Result.flent": "flent:write",
    "Result.plot_flows": "plot.figures:flows",
    "Result.plot_queue": "plot.figures:queue",
    "Result.plot_windows": "plot.figures:windows",
    "Stability.__str__": "text.stability:equilibrium_text",
    "Subscribers.__str__": "text.provider:text",
    "Subscribers.draw": "plot.provider:write",
    "Statement.__str__": "text.templates:text",
    "Sweep.figure": "plot.sweep:figure",
    "Sweep.heat": "plot.sweep:heat",
    "Sweep.plot": "plot.sweep:line",
    "Tuned.__str__": "text.tune:text",
    "Tuned.checked": "text.tune:checked",
    "Tuned.sentence": "text.tune:sentence",
    "Verdict.__str__": "text.ci:text",
    "Verdict.junit": "text.ci:junit",
    "Verdict.markdown": "text.ci:markdown",
    "Verdict.report": "report.ci:report",
    "Why.__str__": "text.why:text",
}

register({method: f"{__name__}.{place}" for method, place in _PLACES.items()})
