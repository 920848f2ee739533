// Draws the data of the element with the id charts. All other parts of the page work without it.
;(() => {
  const { count, latency, tick, rarity, clock } = globalThis.squallFormat
  const { draw, item, widthOf } = globalThis.squallPlot
  const HEIGHT = 200
  const TALL = 300
  // The shares that people name, as their rarity.
  const NAMED = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999].map(
    (share) => -Math.log10(1 - share),
  )
  // Steps of an axis of seconds that people count in.
  const TIMES = [0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200]
  const charts = JSON.parse(document.getElementById('charts').textContent)
  const redraws = charts.map((chart) => createChart(chart))

  function redraw() {
    for (const each of redraws) each()
  }

  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw)
  // Paper is white, whatever the screen was, and has a width of its own.
  matchMedia('print').addEventListener('change', redraw)
  addEventListener('beforeprint', redraw)
  addEventListener('afterprint', redraw)

  function createChart(chart) {
    const box = document.getElementById(chart.id)
    const values = chart.series.map(() => document.createElement('b'))
    const place = document.createElement('span')
    const legend = document.getElementById(`${chart.id}-legend`)
    const last = document.createElement('li')
    last.append(place)
    legend.append(...chart.series.map((series, i) => key(series, values[i])), last)
    let plot
    new ResizeObserver(() => {
      const width = widthOf(box)
      if (plot !== undefined && plot.width !== width) plot.setSize({ width, height })
    }).observe(box)
    const height = box.classList.contains('tall') ? TALL : HEIGHT
    const shown = chart.unit === 'ms' ? latency : count

    const point = (index) => {
      const isPointed = index !== undefined
      const at = chart.x[index]
      const where = chart.form === 'curve' ? rarity : clock
      place.textContent = isPointed ? `at ${where(at)}` : ''
      for (const [i, series] of chart.series.entries()) {
        values[i].textContent = isPointed ? shown(series.values[index]) : ''
      }
    }

    const redrawn = () => {
      plot?.destroy()
      plot = draw(box, height, dataOf(chart), {
        scales: { x: { time: false, range: () => [0, chart.to] }, y: yScale(chart) },
        axes: axes(chart),
        series: (colour) => seriesOf(chart, colour),
        points: { show: false },
        pointed: point,
        padding: [10, 14, 0, 0],
      })
    }
    redrawn()
    return redrawn
  }

  function yScale({ form, top, series }) {
    if (form === 'bars') return { range: () => [0, Math.max(1, top) * 1.08] }
    if (form === 'lines') return { range: () => [0, Math.max(0.1, top) * 1.08] }
    const known = series.flatMap(({ values }) => values.filter((value) => value > 0))
    const low = Math.min(...known, top)
    return { distr: 3, range: () => [Math.max(0.001, low * 0.8), Math.max(0.01, top * 1.25)] }
  }

  function axes({ form, unit, to }) {
    const named = NAMED.filter((each) => each <= to + 1e-9)
    const x =
      form === 'curve'
        ? { splits: () => named, values: (_, splits) => splits.map(rarity) }
        : { space: 60, incrs: TIMES, values: (_, splits) => splits.map(clock) }
    const y = { size: unit === 'ms' ? 62 : 52, space: 34 }
    if (form === 'curve') {
      y.filter = (_, splits) => splits
      y.values = (_, splits) => splits.map((value) => (isNamed(value) ? tick(value) : ''))
    } else {
      y.values = (_, splits) => splits.map(unit === 'ms' ? tick : whole)
      if (unit === 'count')
        y.incrs = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 1e6]
    }
    return [{ size: 30, ...x }, y]
  }

  /** The ticks of an axis with decades: 1, 2 and 5 of each. */
  function isNamed(value) {
    const digit = value / 10 ** Math.floor(Math.log10(value) + 1e-9)
    return [1, 2, 5].some((named) => Math.abs(digit - named) < 1e-6)
  }

  function whole(value) {
    return Number.isInteger(value) ? count(value) : ''
  }

  function seriesOf(chart, colour) {
    const { form, x } = chart
    const paths = globalThis.uPlot.paths
    return stacked(chart).map(({ label, colour: name, dash = [], line }) => {
      if (form === 'bars' && line !== true) {
        return {
          label,
          fill: colour(name),
          stroke: colour(name),
          width: 0,
          paths: paths.bars({ size: [0.9, 80], gap: 0 }),
          points: { show: false },
        }
      }
      return {
        label,
        stroke: colour(name),
        dash,
        width: 2,
        spanGaps: false,
        points: { show: x.length <= 40 && form !== 'curve', size: 6, fill: colour(name) },
      }
    })
  }

  function dataOf(chart) {
    return [chart.x, ...stacked(chart).map(({ values }) => values)]
  }

  /** Bars are drawn one over the other: the longest first, so that each shows its own part. */
  function stacked({ form, x, series }) {
    if (form !== 'bars') return series
    const sums = x.map(() => 0)
    const bars = series
      .filter(({ line }) => line !== true)
      .map((each) => {
        for (const [i, value] of each.values.entries()) sums[i] += value ?? 0
        return { ...each, values: [...sums] }
      })
    return [...bars.toReversed(), ...series.filter(({ line }) => line === true)]
  }

  function key({ label, colour: color, dash = [], line }, value) {
    const isLine =
      line === true || dash.length > 0 || color.startsWith('--run') || color === '--client'
    return item({ label, color, dash, area: !isLine }, value)
  }
})()
