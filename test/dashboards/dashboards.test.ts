import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { dashboards, isAboutWebhook, panelsOf, type Dashboard, type Panel } from './shipped.ts'

const COLOURS = { injected: '#B877D9', real: '#E02F44' }
const CHOICES = ['datasource', 'cluster', 'job', 'namespace', 'workload', 'pod']
const KINDS = ['timeseries', 'stat', 'table', 'state-timeline', 'heatmap']
const UNITS = ['short', 's', 'bytes', 'percentunit', 'reqps', 'ops', 'Bps']
const all = dashboards()

it('there are three dashboards with distinct uid, title and file', () => {
  expect(all.map(({ file }) => file)).toEqual(['overview.json', 'rules.json', 'sidecar.json'])
  expect(new Set(all.map(({ uid }) => uid)).size).toBe(3)
  for (const { uid, title, description, tags } of all) {
    expect(uid).toMatch(/^[a-z-]{1,40}$/)
    expect(title).toMatch(/^Squall \/ /)
    expect(description).not.toBe('')
    expect(tags).toContain('squall')
  }
})

it('they are as their definitions make them', async () => {
  const made = new URL('../../scripts/lib/dashboards.mjs', import.meta.url).href
  const { DASHBOARDS } = (await import(made)) as {
    DASHBOARDS: readonly { path: string; make: () => string }[]
  }
  expect(DASHBOARDS.map(({ path }) => path)).toEqual(
    all.map(({ file }) => `deploy/grafana/${file}`),
  )
  DASHBOARDS.forEach(({ make, path }, index) => {
    const { file: _, ...shipped } = all[index]!
    expect(shipped, `${path} is stale: npm run generate`).toEqual(JSON.parse(make()))
  })
})

it('an import by hand asks for the data source, and provisioning needs no question', () => {
  for (const { file, __inputs: inputs, templating, ...board } of all) {
    const input = { name: 'DS_PROMETHEUS', type: 'datasource', pluginId: 'prometheus' }
    expect(inputs).toMatchObject([input])
    const [source, ...others] = templating.list
    expect(source).toMatchObject({ type: 'datasource', current: { value: '${DS_PROMETHEUS}' } })
    const provisioned: unknown = JSON.parse(
      readFileSync(new URL(`../../deploy/chart/files/grafana/${file}`, import.meta.url), 'utf8'),
    )
    const current = { selected: true, text: 'default', value: 'default' }
    const list = [{ ...source, current }, ...others]
    expect(provisioned).toEqual({ ...board, templating: { list } })
    expect(JSON.stringify(provisioned)).not.toContain('DS_PROMETHEUS')
  }
})

describe.each(all.map((dashboard) => [dashboard.title, dashboard] as const))('%s', (_, board) => {
  const panels = panelsOf(board)

  it('has a schema that Grafana migrates from', () => {
    expect(board.schemaVersion).toBeGreaterThanOrEqual(36)
    expect('id' in board).toBe(false)
  })

  it('lets readers choose, first of all the data source', () => {
    const names = board.templating.list.map(({ name }) => name)
    expect(names.slice(0, 6)).toEqual(CHOICES)
    expect(new Set(names).size).toBe(names.length)
    for (const variable of board.templating.list) {
      expect(variable.label).not.toBe('')
      if (variable.type === 'datasource') continue
      expect(variable.definition).toMatch(new RegExp(`^label_values\\(.*, ${variable.name}\\)$`))
      // Targets without such a label are shown, too. Of jobs one is chosen: two of them may scrape
      // one sidecar.
      const isJob = variable.name === 'job'
      expect(variable).toMatchObject({ multi: !isJob, includeAll: !isJob })
      expect(variable.allValue).toBe(isJob ? undefined : '.*')
    }
  })

  it('uses every choice, and no other', () => {
    const used = new Set<string>()
    for (const [, name] of JSON.stringify(board).matchAll(/\$\{?(\w+)\}?/g)) used.add(name!)
    const own = ['DS_PROMETHEUS', '__rate_interval', '__range', '__all']
    const names = board.templating.list.map(({ name }) => name)
    expect([...used].filter((name) => !own.includes(name)).toSorted()).toEqual(names.toSorted())
    for (const { expr = '' } of panels.flatMap(({ targets = [] }) => targets)) {
      // The webhook is scraped by a job of its own.
      const choices = isAboutWebhook(expr) ? ['cluster'] : CHOICES.slice(1)
      for (const name of choices) expect(expr).toContain(`${name}=~"$${name}"`)
    }
  })

  it('has panels with ids of their own that do not overlap', () => {
    const ids = board.panels.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    const taken = new Map<string, string>()
    for (const { title, gridPos } of board.panels) {
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24)
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(taken.get(`${x},${y}`), title).toBe(undefined)
          taken.set(`${x},${y}`, title)
        }
      }
    }
  })

  it('begins with a row, and no row is empty', () => {
    expect(board.panels[0]?.type).toBe('row')
    board.panels.forEach(({ type, title }, index) => {
      if (type === 'row') expect(board.panels[index + 1]?.type ?? 'row', title).not.toBe('row')
    })
  })

  it.each(panels.map((panel) => [panel.title, panel] as const))('%s: is complete', (__, panel) => {
    expect(KINDS).toContain(panel.type)
    expect(panel.title.length).toBeGreaterThan(2)
    expect(panel.description?.length).toBeGreaterThan(20)
    expect(UNITS).toContain(panel.fieldConfig?.defaults.unit)
    const { steps, mode } = panel.fieldConfig!.defaults.thresholds
    expect(mode).toBe('absolute')
    expect(steps[0]?.value).toBe(null)
    const bounds = steps.slice(1).map(({ value }) => value!)
    expect(bounds).toEqual(bounds.toSorted((a, b) => a - b))
    expect(panel.targets?.length).toBeGreaterThan(0)
    const refs = panel.targets!.map(({ refId }) => refId)
    expect(new Set(refs).size).toBe(refs.length)
    for (const { instant, range, format, legendFormat } of panel.targets!) {
      expect(instant).toBe(!range)
      if (panel.type === 'table') expect([instant, format]).toEqual([true, 'table'])
      else expect(legendFormat).not.toBe('')
    }
  })

  it('names no data source of its own', () => {
    const text = JSON.stringify(board)
    const uids = [...text.matchAll(/"datasource":\{[^{}]*"uid":"([^"]*)"/g)].map(([, uid]) => uid)
    expect(uids.length).toBeGreaterThan(panels.length)
    for (const uid of uids) expect(uid).toBe('${datasource}')
  })

  it('shows injected things in one colour and real errors in another', () => {
    const seen = coloured(board)
    for (const { legend, colour, where } of seen) {
      if (/injected|fault|^armed/.test(legend)) expect(colour, where).toBe(COLOURS.injected)
      else if (/\breal\b/.test(legend)) expect(colour, where).toBe(COLOURS.real)
      else expect(Object.values(COLOURS), where).not.toContain(colour)
    }
  })

  it('gives nothing else those colours, nor others of their names', () => {
    expect(JSON.stringify(board).match(/"([a-z-]+-)?(red|purple)"/)).toBe(null)
    for (const panel of panels.filter(({ type }) => type === 'timeseries')) {
      for (const { refId } of panel.targets ?? []) {
        // Without a colour of its own a series takes one of a palette, in which both are.
        expect(fixed(panel, 'byFrameRefID', refId), panel.title).toMatch(/^#/)
      }
    }
  })

  it('says in the legend what is injected and what is real', () => {
    for (const { title, targets = [], type } of panels) {
      for (const { expr, legendFormat } of targets) {
        // Availability is what is left of both.
        if (type === 'table' || expr.includes('clamp_min')) continue
        const parts =
          /origin=~?"injected|faults_injected|injected_delay|evaluations_total.*result="applied"/
        if (/outcome!~"ok\|cancelled", origin![=~]/.test(expr))
          expect(legendFormat, title).toMatch(/^real/)
        else if (parts.test(expr) && !expr.includes('== 0')) {
          expect(legendFormat, title).toMatch(/injected/)
        }
      }
    }
  })
})

function coloured(board: Dashboard): readonly { legend: string; colour: string; where: string }[] {
  return panelsOf(board).flatMap((panel) => [
    ...(panel.targets ?? []).map(({ legendFormat, refId }) => ({
      legend: legendFormat.toLowerCase(),
      colour: panel.type === 'stat' ? lastStep(panel) : fixed(panel, 'byFrameRefID', refId),
      where: `${panel.title} ${refId}`,
    })),
    ...(panel.type === 'table' ? (panel.fieldConfig?.overrides ?? []) : []).map(({ matcher }) => ({
      // The dashboard of rules itself shows that a column is about the effects of rules.
      legend: /^(Applied|In progress|Delay, mean)$/.test(matcher.options)
        ? 'injected'
        : matcher.options.toLowerCase(),
      colour: fixed(panel, 'byName', matcher.options),
      where: `${panel.title} ${matcher.options}`,
    })),
  ])
}

function fixed(panel: Panel, matcher: string, options: string): string {
  const found = panel.fieldConfig?.overrides.find(
    (override) => override.matcher.id === matcher && override.matcher.options === options,
  )
  const of = (id: string): unknown => found?.properties.find((each) => each.id === id)?.value
  const thresholds = of('thresholds') as { steps: readonly { color: string }[] } | undefined
  const colour = of('color') as { fixedColor?: string } | undefined
  return colour?.fixedColor ?? thresholds?.steps.at(-1)?.color ?? ''
}

/** The colour of a number that is not zero. */
function lastStep({ fieldConfig }: Panel): string {
  return fieldConfig?.defaults.thresholds.steps.at(-1)?.color ?? ''
}
