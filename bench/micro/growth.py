"""Growth of the time for one gang: with the nodes of the cluster, and with the pods of the gang.

The curves are drawn into `docs/benchmarks/topology-growth.svg`, on two logarithmic axes; a slope is
the exponent of the least-squares line through a curve's points.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.harness import ROOT, Figure, quiet_collector, shown
from bench.micro.topology import times_of
from bench.trees import SOFT, gang, hard, synthetic, workers
from global_sched.shared.model.gang import Gang
from global_sched.shared.placement import Space

PICTURE = ROOT / "docs" / "benchmarks" / "topology-growth.svg"
NODES = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)
PODS = (2, 8, 32, 128, 512, 2_048)
TRIES = 60

Curve = Mapping[int, float]


def _gangs(pods: int) -> dict[str, Gang]:
    groups = min(8, pods)
    return {
        "one shape, soft": gang(workers(pods), constraint=SOFT),
        "one shape, hard tier 3": gang(workers(pods), constraint=hard(3)),
        "groups in racks": gang(workers(pods, group=groups), constraint=hard(3)),
    }


def _measured(space: Space, wanted: Gang) -> float:
    space.place(wanted)
    with quiet_collector():
        return statistics.median(times_of(space, wanted, TRIES))


def by_nodes() -> dict[str, dict[int, float]]:
    """Median milliseconds of a gang of 64 per number of nodes."""
    found: dict[str, dict[int, float]] = {}
    for nodes in NODES:
        space = Space(synthetic(nodes))
        for name, wanted in _gangs(64).items():
            found.setdefault(name, {})[nodes] = _measured(space, wanted)
    return found


def by_pods() -> dict[str, dict[int, float]]:
    """Median milliseconds at 20,000 nodes per number of pods."""
    found: dict[str, dict[int, float]] = {}
    space = Space(synthetic(20_000))
    for pods in PODS:
        for name, wanted in _gangs(pods).items():
            found.setdefault(name, {})[pods] = _measured(space, wanted)
    return found


def slope(curve: Curve) -> float:
    """The exponent of the least-squares line through the logarithms."""
    xs = [math.log10(x) for x in curve]
    ys = [math.log10(max(y, 1e-6)) for y in curve.values()]
    mean_x, mean_y = statistics.fmean(xs), statistics.fmean(ys)
    above = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True))
    return above / sum((x - mean_x) ** 2 for x in xs)


# --- the picture ----------------------------------------------------------------------------------

_WIDTH, _HEIGHT, _LEFT, _TOP, _PLOT = 460, 330, 62, 34, (360, 240)
_COLORS = ("#1b6ca8", "#c2571a", "#3c8d2f")


def picture(panels: Sequence[tuple[str, Mapping[str, Curve]]]) -> str:
    """The panels side by side, as SVG."""
    size = f'width="{_WIDTH * len(panels)}" height="{_HEIGHT + 60}"'
    body = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for at, (title, curves) in enumerate(panels):
        body.append(f'<g transform="translate({at * _WIDTH},0)">')
        body += _panel(title, curves)
        body.append("</g>")
    return "\n".join([*body, "</svg>\n"])


def _panel(title: str, curves: Mapping[str, Curve]) -> list[str]:
    """One diagram with its axes and legend."""
    xs = [math.log10(x) for curve in curves.values() for x in curve]
    ys = [math.log10(max(y, 1e-6)) for curve in curves.values() for y in curve.values()]
    box = (min(xs), max(xs), math.floor(min(ys)), math.ceil(max(ys)))
    lines = [f'<text x="{_LEFT}" y="20" font-weight="bold">{title}</text>']
    for power in range(math.ceil(box[0]), math.floor(box[1]) + 1):
        x, _ = _at(power, box[2], box)
        lines.append(_line(x, _TOP, x, _TOP + _PLOT[1]))
        lines.append(f'<text x="{x:.0f}" y="{_TOP + _PLOT[1] + 16}" {_MIDDLE}>{10**power:,}</text>')
    for power in range(box[2], box[3] + 1):
        _, y = _at(box[0], power, box)
        lines.append(_line(_LEFT, y, _LEFT + _PLOT[0], y))
        label = f"{10.0**power:g} ms"
        lines.append(f'<text x="{_LEFT - 6}" y="{y + 4:.0f}" text-anchor="end">{label}</text>')
    for number, (name, curve) in enumerate(curves.items()):
        lines += _curve(name, curve, number, box)
    return lines


_MIDDLE = 'text-anchor="middle"'
_Box = tuple[float, float, int, int]


def _at(x: float, y: float, box: _Box) -> tuple[float, float]:
    """A point of the diagram in the picture."""
    across = (x - box[0]) / (box[1] - box[0])
    up = (y - box[2]) / max(1, box[3] - box[2])
    return _LEFT + across * _PLOT[0], _TOP + (1 - up) * _PLOT[1]


def _line(x: float, y: float, to_x: float, to_y: float) -> str:
    return f'<line x1="{x:.0f}" y1="{y:.0f}" x2="{to_x:.0f}" y2="{to_y:.0f}" stroke="#ddd"/>'


def _curve(name: str, curve: Curve, number: int, box: _Box) -> list[str]:
    color = _COLORS[number % len(_COLORS)]
    points = [_at(math.log10(x), math.log10(max(y, 1e-6)), box) for x, y in curve.items()]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    below = _TOP + _PLOT[1] + 40 + 20 * number
    dots = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}"/>' for x, y in points]
    text = f"{name}: slope {slope(curve):.2f}"
    return [
        f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>',
        *dots,
        f'<text x="{_LEFT}" y="{below}" fill="{color}">{text}</text>',
    ]


def figures() -> list[Figure]:
    """The slopes, and the picture written."""
    nodes, pods = by_nodes(), by_pods()
    panels = [("a gang of 64, by nodes", nodes), ("20,000 nodes, by pods of the gang", pods)]
    Path(PICTURE.parent).mkdir(parents=True, exist_ok=True)
    PICTURE.write_text(picture(panels), encoding="utf-8")
    found = []
    for what, curves in (("nodes", nodes), ("pods", pods)):
        for name, curve in curves.items():
            points = ", ".join(f"{at:,}: {value:.3f} ms" for at, value in curve.items())
            title = f"growth of the time for one gang with {what}, {name}: slope"
            found.append(shown("growth", title, slope(curve), "", points))
    return found
