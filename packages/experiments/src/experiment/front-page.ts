import { foreign, gateValue, htmlText, latency, plainText } from '#base'
import { endingsOf } from '../report/endings.ts'
import { unbroken } from '../report/html-parts.ts'
import type { ExperimentResult, PhaseGate } from './experiment-result.ts'
import { METRICS, type Phase, phasesOf, valueText } from './experiment-tables.ts'
import { limitText, nameOf, spaced } from '../report/gate-words.ts'

const text = (foreignText: string): string => unbroken(foreign(foreignText, 600))

/** Renders what a reader needs: result, advice, one picture of the stages, further facts and the plan. */
export function frontHtml(
  result: ExperimentResult,
  facts: readonly string[],
  plan: string,
): string {
  const { verdict, summary, advice, description = '' } = result
  const mark = verdict === 'passed' ? '<b class="good">✓</b>' : '<b class="bad">✗</b>'
  return `<section class="card verdict" aria-label="Verdict">
<p class="sentence">${mark} ${text(summary)}</p>
<p class="more"><b>Next step:</b> ${text(advice)}</p>
</section>
<section class="card"><h2 id="stages">Stages</h2>
${pictureHtml(result)}
<ul class="legend"><li><span class="swatch injected"></span> injected</li><li><span class="swatch real"></span> real</li><li><span class="swatch unattributed"></span> other errors</li><li><span class="key limit"></span> limit</li></ul>
${facts.map((fact) => `<p class="muted">${text(fact)}</p>`).join('')}</section>
<section class="card"><h2 id="plan">The plan</h2><p>${text(description)}</p>
<pre class="scroll" tabindex="0" role="group" aria-labelledby="plan">${htmlText(plainText(plan))}</pre></section>`
}

/** The metrics that are drawn. */
const TITLES: Readonly<Record<string, string>> = {
  injected: 'Faults injected',
  success: 'Success rate of calls',
  errors: 'Calls that failed',
  p95: 'p95 latency',
}

/** Draws all phases side by side, with the gates as lines, and marks rollback and recovery. */
function pictureHtml(result: ExperimentResult): string {
  const phases = phasesOf(result)
  const gates = result.gates.filter(({ from }) => from !== 'steadyState')
  const others = gates.filter(({ gate }) => !(nameOf(gate) in TITLES))
  const other = others.find(({ ok }) => !ok) ?? others[0]
  const panels = METRICS.filter(({ metric }) => metric in TITLES).map(({ metric, unit, of }) => {
    const own = gates.filter(({ gate }) => nameOf(gate) === metric)
    const shown = (phase: Phase): string => valueText(of(phase), unit)
    return panelHtml(TITLES[metric]!, own, phases, {
      shown,
      parts: (phase) => partsOf(metric, phase, of(phase)),
    })
  })
  if (other !== undefined) {
    const own = others.filter(({ gate }) => gate === other.gate)
    const value = ({ label }: Phase): number | null | undefined =>
      own.find(({ phase }) => phase === label)?.measured
    const title = nameOf(other.gate) === 'blast' ? 'Tasks that failed' : nameOf(other.gate)
    const shown = (phase: Phase): string => gateValue(other.gate, value(phase) ?? null)
    panels.push(
      panelHtml(title, own, phases, {
        shown: (phase) => (value(phase) === undefined ? '' : shown(phase)),
        parts: (phase) => [['ok', value(phase) ?? 0]],
      }),
    )
  }
  const head = phases.map((phase) => {
    const isFailed = phase.label === result.stage && result.verdict !== 'passed'
    const mark = !('applied' in phase)
      ? ''
      : isFailed
        ? '<b class="bad">✗</b>'
        : '<b class="good">✓</b>'
    return `<th scope="col">${text(spaced(phase.label))} ${mark}</th>`
  })
  const events = phases.map((phase) => `<td><small>${eventOf(phase, result)}</small></td>`)
  return `<div class="scroll" tabindex="0" role="group" aria-labelledby="stages"><table class="stages">
<thead><tr>${head.join('')}</tr></thead>
${panels.join('\n')}
<tbody><tr>${events.join('')}</tr></tbody></table></div>`
}

/** The parts of a column from the bottom, with the names of their colours. */
type ColumnValues = readonly (readonly [colour: string, value: number])[]

function partsOf(metric: string, { load }: Phase, value: number | null): ColumnValues {
  if (metric !== 'errors' || load === undefined) {
    return [[metric === 'injected' ? metric : 'ok', value ?? 0]]
  }
  const { injected, real, unattributed, squall, client } = endingsOf(load)
  const parts = Object.entries({ injected, real, unattributed: unattributed + squall + client })
  return parts.map(([name, count]) => [name, count / Math.max(1, load.counts.calls)])
}

const HEIGHT = 48

function panelHtml(
  title: string,
  gates: readonly PhaseGate[],
  phases: readonly Phase[],
  of: { readonly shown: (phase: Phase) => string; readonly parts: (phase: Phase) => ColumnValues },
): string {
  // Of several limits on one measure, the one that failed.
  const gate = gates.find(({ ok }) => !ok) ?? gates[0]
  const columns = phases.map(of.parts)
  const most = Math.max(...columns.map((parts) => parts.reduce((sum, [, value]) => sum + value, 0)))
  // A limit that is far above all values would flatten them.
  const limit = gate !== undefined && gate.limit < 4 * most ? gate.limit : 0
  const top = 1.1 * Math.max(most, limit, 1e-9)
  const cells = phases.map((phase, i) => {
    const own = gates.filter((each) => each.phase === phase.label)
    const shown = text(of.shown(phase))
    const column = columnSvg(columns[i]!, top, own.length > 0 ? limit : 0)
    return `<td>${column}${own.some(({ ok }) => !ok) ? `<b class="bad">${shown}</b>` : shown}</td>`
  })
  const kind = gate?.gate.includes('>') === true ? 'minimum' : 'limit'
  const name = gate === undefined ? title : `${title}, ${kind} ${limitText(gate.gate)}`
  return `<tbody><tr><th scope="rowgroup" colspan="${phases.length}">${text(name)}</th></tr><tr>${cells.join('')}</tr></tbody>`
}

function columnSvg(parts: ColumnValues, top: number, limit: number): string {
  let y = HEIGHT
  const rects = parts.map(([colour, value]) => {
    // A single failure must be visible.
    const height = value === 0 ? 0 : Math.max(2, Math.round((value / top) * HEIGHT))
    y -= height
    return `<rect class="${colour}" x="20" y="${y}" width="60" height="${height}"/>`
  })
  const at = Math.round(HEIGHT * (1 - limit / top))
  const line = limit === 0 ? '' : `<path class="limit" d="M0 ${at}H100"/>`
  return `<svg class="column" viewBox="0 0 100 ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true">${rects.join('')}${line}</svg>`
}

/** Marks the rollback below the last stage, and the recovery below the phase after it. */
function eventOf(phase: Phase, result: ExperimentResult): string {
  const { stages, after, rollbackMs, restored, mttrMs, steadyAfter } = result
  if (phase === stages.at(-1)) {
    if (!restored) return '<b class="bad">✗ not rolled back</b>'
    return `↩ rolled back${rollbackMs === null ? '' : ` in ${latency(rollbackMs)}`}`
  }
  if (phase !== after || steadyAfter === null) return ''
  if (!steadyAfter) return '<b class="bad">✗ not recovered</b>'
  return `<b class="good">✓</b> ${mttrMs === null ? 'steady' : 'recovered'}`
}
