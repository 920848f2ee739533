import { byId, make, setAttribute, setText } from './dom.js'
import { rate, seconds } from './format.js'

/** @type {any} */
const { squallPlot } = globalThis
const HEIGHT = 190
const LEAST_SECONDS = 60

// Dashes distinguish the series as colours do.
const ERRORS = {
  name: 'errors',
  format: rate,
  tick: (value) => String(+value.toFixed(2)),
  about: 'Errors per second',
  series: [
    { column: 'real', label: 'Real', color: '--real', dash: [], width: 2 },
    { column: 'injected', label: 'Injected', color: '--injected', dash: [7, 4], width: 2 },
    {
      column: 'injected_elsewhere',
      label: 'Elsewhere',
      color: '--injected',
      dash: [2, 3],
      width: 1,
    },
    { column: 'squall', label: 'Squall’s own', color: '--own', dash: [2, 3], width: 1.5 },
  ],
}
const LATENCY = {
  name: 'latency',
  format: seconds,
  tick: seconds,
  about: 'Latency',
  series: [
    { column: 'p95', label: 'Client p95', color: '--client', dash: [], width: 2 },
    { column: 'p50', label: 'Client p50', color: '--client', dash: [], width: 1 },
    { column: 'upstreamP95', label: 'Upstream p95', color: '--upstream', dash: [7, 4], width: 2 },
    { column: 'upstreamP50', label: 'Upstream p50', color: '--upstream', dash: [2, 3], width: 1.5 },
  ],
}

/** Creates both charts. */
export function createCharts() {
  const charts = [new Chart(ERRORS), new Chart(LATENCY)]
  const redraw = () => {
    for (const chart of charts) chart.redraw()
  }
  document.addEventListener('themechange', redraw)
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw)
  return {
    show: (traffic, tool) => {
      for (const chart of charts) chart.show(traffic, tool)
    },
  }
}

class Chart {
  #spec
  #box
  #values
  #plot
  #data
  /** The index under the pointer; undefined without a pointer. */
  #pointed

  constructor(spec) {
    this.#spec = spec
    this.#box = byId(`${spec.name}-chart`)
    this.#data = [[], ...spec.series.map(() => [])]
    this.#values = spec.series.map(() => make('b'))
    byId(`${spec.name}-legend`).append(
      ...spec.series.map((each, i) => squallPlot.item(each, this.#values[i])),
    )
    const resize = () =>
      this.#plot?.setSize({ width: squallPlot.widthOf(this.#box), height: HEIGHT })
    new ResizeObserver(resize).observe(this.#box)
  }

  show(traffic, tool) {
    this.#data = traffic.of(
      tool,
      this.#spec.series.map(({ column }) => column),
    )
    if (this.#plot === undefined) this.#draw()
    else this.#plot.setData(this.#data)
    this.#showValues()
  }

  /** Draws anew, since colours are read when a chart is made. */
  redraw() {
    if (this.#plot !== undefined) this.#draw()
  }

  #draw() {
    this.#plot?.destroy()
    const { tick, series } = this.#spec
    this.#plot = squallPlot.draw(this.#box, HEIGHT, this.#data, {
      scales: {
        x: { range: () => this.#times() },
        y: { range: (_, __, top) => [0, top > 0 ? top * 1.1 : 1] },
      },
      axes: [
        { size: 28, space: 70, values: (_, times) => times.map(clock) },
        { size: 58, space: 36, values: (_, values) => values.map(tick) },
      ],
      series: (color) =>
        series.map((each) => ({
          ...each,
          stroke: color(each.color),
          spanGaps: false,
          points: { show: false },
        })),
      points: { size: 6 },
      pointed: (index) => {
        this.#pointed = index
        this.#showValues()
      },
      padding: [8, 28, 0, 0],
    })
    setAttribute(this.#box, 'data-drawn', getComputedStyle(this.#box).colorScheme)
  }

  /** Returns the first and the last time, at least a minute apart. */
  #times() {
    const [times] = this.#data
    const to = times.at(-1) ?? Date.now() / 1000
    return [Math.min(times[0] ?? to, to - LEAST_SECONDS), to]
  }

  /** Shows the newest values, or those under the pointer; screen readers read the same. */
  #showValues() {
    const { format, about, series } = this.#spec
    const index = this.#pointed ?? this.#data[0].length - 1
    const texts = series.map((_, i) => format(this.#data[i + 1][index] ?? null))
    for (const [i, text] of texts.entries()) setText(this.#values[i], text)
    const spoken = series.map(({ label }, i) => `${label} ${texts[i]}`)
    setAttribute(this.#box, 'aria-label', `${about} now: ${spoken.join(', ')}`)
  }
}

function clock(time) {
  return new Date(time * 1000).toLocaleTimeString('en-GB')
}
