import { DATASOURCE } from './panel.mjs'
import { VARIABLES } from './variables.mjs'

const WIDTH = 24

/** A dashboard as Grafana imports it, from rows of panels. */
export function dashboard({ uid, title, description, variables, annotations = [], rows }) {
  return {
    uid,
    title,
    description,
    schemaVersion: 39,
    version: 1,
    editable: true,
    graphTooltip: 1,
    refresh: '30s',
    tags: ['squall', 'mcp', 'chaos'],
    time: { from: 'now-1h', to: 'now' },
    timepicker: {},
    timezone: 'browser',
    weekStart: '',
    fiscalYearStartMonth: 0,
    liveNow: false,
    links: [
      {
        type: 'dashboards',
        title: 'Squall',
        tags: ['squall'],
        asDropdown: false,
        icon: 'external link',
        includeVars: true,
        keepTime: true,
        targetBlank: false,
        tooltip: '',
        url: '',
      },
    ],
    annotations: { list: annotations },
    templating: { list: variables.map((name) => VARIABLES[name]) },
    panels: placed(rows),
  }
}

/** Puts panels side by side until a line is full; each row begins with its heading. */
function placed(rows) {
  const panels = []
  let y = 0
  for (const { title, panels: members } of rows) {
    const gridPos = { h: 1, w: WIDTH, x: 0, y: y++ }
    panels.push({
      id: panels.length + 1,
      type: 'row',
      title,
      collapsed: false,
      gridPos,
      panels: [],
    })
    let x = 0
    let height = 0
    for (const { size, ...panel } of members) {
      const [w, h] = size
      if (x + w > WIDTH) {
        x = 0
        y += height
        height = 0
      }
      panels.push({ id: panels.length + 1, ...panel, gridPos: { h, w, x, y } })
      x += w
      height = Math.max(height, h)
    }
    y += height
  }
  return panels
}

/** Marks on all graphs, at the times that a query's values are, in milliseconds. */
export function markers({ name, expr, colour, title, text }) {
  return {
    name,
    datasource: DATASOURCE,
    enable: true,
    hide: false,
    iconColor: colour,
    expr: expr.trim().replaceAll(/\s*\n\s*/g, ' '),
    step: '30s',
    tagKeys: 'pod,instance',
    titleFormat: title,
    textFormat: text,
    useValueForTime: 'on',
  }
}
