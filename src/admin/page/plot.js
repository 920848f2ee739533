// Draws charts for the admin page and for reports.
;(() => {
  const FONT = '12px system-ui, sans-serif'

  /** Draws a chart; colours are read now. `pointed` gets the index under the pointer. */
  function draw(box, height, data, { axes, scales, series, padding, points, pointed }) {
    const color = colorsOf(box)
    const axis = {
      stroke: color('--muted'),
      font: FONT,
      grid: { stroke: color('--grid'), width: 1 },
      ticks: { show: false },
    }
    const options = {
      width: widthOf(box),
      height,
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points },
      scales,
      axes: axes.map((each) => ({ ...axis, ...each })),
      series: [{}, ...series(color)],
      hooks: { setCursor: [({ cursor }) => pointed(cursor.idx ?? undefined)] },
      padding,
    }
    return new globalThis.uPlot(options, data, box)
  }

  function widthOf(box) {
    return Math.max(200, Math.floor(box.clientWidth))
  }

  /** Returns the colours of the style sheet. A variable may be a pair: only a computed one is one. */
  function colorsOf(box) {
    return (name) => {
      const probe = document.createElement('span')
      probe.style.color = `var(${name})`
      box.append(probe)
      const { color } = getComputedStyle(probe)
      probe.remove()
      return color
    }
  }

  /** Makes an item of a legend: a piece of the line, or of the area, with its label. */
  function item({ label, color, dash = [], area = false }, value) {
    const sign = document.createElement('span')
    sign.className = area ? 'swatch' : 'key'
    sign.style.setProperty('--of', `var(${color})`)
    if (dash.length > 0) sign.style.borderTopStyle = dash[0] > 5 ? 'dashed' : 'dotted'
    const li = document.createElement('li')
    li.append(sign, ` ${label} `, value)
    return li
  }

  globalThis.squallPlot = Object.freeze({ draw, item, widthOf })
})()
