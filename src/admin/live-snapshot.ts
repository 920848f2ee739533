import type { RecentFault, RecentFaults } from '../listener/faults/recent-faults.ts'
import type { ActiveRules } from '../rules/watch/active-rules.ts'
import type { ToolSample, ToolsSource } from '../telemetry/tool-sample.ts'
import type { LiveEvent, Tool } from './api.ts'
import { showFault } from './api-faults.ts'
import { showRules } from './api-rules.ts'
import type { EventSource, EventSnapshot } from './event-streams.ts'
import { isoTime } from './api-time.ts'
import { type Latency, LatencyWindow } from './latency-window.ts'

/** The sources of the live view. */
export interface LiveSources {
  readonly rules: ActiveRules
  readonly recent: RecentFaults | undefined
  readonly tools: ToolsSource
  readonly state: () => LiveEvent['state']
}

/** One moment of all that is shown live. */
type Moment = Omit<LiveEvent, 'faults'>

const WINDOW_SECONDS = 10

/** Everything that a person wants at a glance, made when somebody listens. */
export function liveSnapshots({ rules, recent, tools, state }: LiveSources): EventSource {
  const window = new LatencyWindow(WINDOW_SECONDS)
  let seen = recent?.total ?? 0

  const snapshot = (): EventSnapshot => {
    const total = recent?.total ?? 0
    const fresh = total - seen
    seen = total
    const kept = recent?.list() ?? []
    const json = withoutEnd(moment())
    let whole: string | undefined
    return {
      next: `${json},${faults(false, total, kept.slice(0, fresh))}`,
      whole: () => (whole ??= `${json},${faults(true, total, kept)}`),
    }
  }

  const moment = (): Moment => {
    const sampled = tools()
    const latency = window.look(sampled)
    return {
      at: isoTime(rules.clock()),
      state: state(),
      rules: showRules(rules, { withoutZeros: true }),
      tools: sampled.map((sample) => showTool(sample, latency.get(sample.tool))),
      latency: latency.get(null),
    }
  }

  return { snapshot, rest: () => window.forget() }
}

function showTool({ tool, calls, errors }: ToolSample, latency: Latency | undefined): Tool {
  return { tool, calls, errors, ...latency }
}

/** A JSON object to which a part is yet to be added. */
function withoutEnd(value: Moment): string {
  return JSON.stringify(value).slice(0, -1)
}

function faults(whole: boolean, total: number, list: readonly RecentFault[]): string {
  const shown: LiveEvent['faults'] = { whole, total, faults: list.map(showFault) }
  return `"faults":${JSON.stringify(shown)}}`
}
