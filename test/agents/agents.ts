import { AgentWatch, type AgentWatchOptions, type Findings } from '../../src/agents/agent-watch.ts'
import type { ActionEnd } from '../../src/agents/fault-event.ts'
import type { Action } from '../../src/agents/task.ts'
import type { RequestCall } from '../../src/mcp/call.ts'
import { TaskCounts } from '../../src/telemetry/task-counts.ts'

/** A call as a test writes it: `search` with arguments, or another method. */
export interface Asked {
  readonly tool?: string
  readonly args?: object
  readonly method?: string
  readonly meta?: object
  readonly session?: string
  readonly trace?: string
  readonly headers?: readonly string[]
  readonly peer?: string
  /** The address of the server. */
  readonly server?: string
}

/** Describes the end of a call; ok by default. */
export interface Ended {
  readonly fault?: string
  /** The number of rules that injected the fault. */
  readonly times?: number
  readonly outcome?: ActionEnd['record']['outcome']
  readonly changed?: boolean
  readonly executed?: boolean | 'possible'
  readonly sessionLost?: boolean
  readonly retryAfter?: number
  /** The time at which the client left, where the call is settled later. */
  readonly leftAt?: number
}

/** The core with a clock that the test moves, and every verdict in order. */
export function watched(
  options: Partial<AgentWatchOptions> = {},
  labelOf = (name: string): string => name,
  findings?: Findings,
) {
  let at = 0
  const counts = new TaskCounts(labelOf)
  let evicted = 0
  const watch = new AgentWatch(
    {
      by: ['header', 'meta', 'trace', 'session', 'client'],
      header: 'x-task-id',
      meta: 'task',
      window: 1000,
      maxRetries: 3,
      now: () => at,
      ...options,
    },
    counts,
    () => evicted++,
    findings,
  )
  const verdicts: string[] = []
  watch.read(({ verdict }) => verdicts.push(verdict))
  const begin = (asked: Asked): Action | undefined => {
    const { tool, args, meta, session = 's', trace, headers = [], peer = '127.0.0.1' } = asked
    const server = watch.serverOf(asked.server ?? '')
    const method = asked.method ?? 'tools/call'
    const params = {
      ...(tool !== undefined && { name: tool }),
      ...(args !== undefined && { arguments: args }),
      ...(meta !== undefined && { _meta: meta }),
    }
    const call: RequestCall = {
      id: 1,
      method,
      name: tool,
      params,
      transport: 'streamable-http',
      protocolVersion: '2025-06-18',
      progressToken: undefined,
    }
    const head = { method: 'POST', target: '/mcp', version: '1.1', headers } as const
    return watch.started(
      call,
      { caller: { head, peer }, session, trace, client: undefined, server },
      ++at,
    )
  }
  const end = (action: Action | undefined, ended: Ended = {}): void => {
    const { fault, times = 1, outcome = 'ok', changed = false, executed, retryAfter } = ended
    at++
    const endedAt = ended.leftAt ?? at
    watch.ended(
      action!,
      {
        record: {
          outcome,
          origin: fault === undefined || outcome === 'ok' ? 'real' : 'injected',
          changed,
        },
        faults: Array.from({ length: fault === undefined ? 0 : times }, (_, i) => ({
          rule: `r${i}`,
          fault: fault!,
        })),
        retryAt: retryAfter === undefined ? undefined : at + retryAfter,
        execution: EXECUTION[String(executed ?? outcome === 'ok')]!,
        isSessionLost: ended.sessionLost === true,
        isTransient: outcome !== 'ok' && outcome !== 'cancelled',
        client: undefined,
        session: 's',
      },
      endedAt,
    )
  }
  return {
    watch,
    counts,
    verdicts,
    begin,
    end,
    evicted: () => evicted,
    now: () => at,
    call: (asked: Asked, ended?: Ended): void => end(begin(asked), ended),
    /** Passes time without a sweep. */
    pass: (ms: number): void => {
      at += ms
    },
    wait: (ms: number): void => {
      at += ms
      watch.sweep(at)
    },
  }
}

const EXECUTION: Readonly<Record<string, ActionEnd['execution']>> = {
  true: 'known',
  possible: 'possible',
  false: 'none',
}

export const FAILED: Ended = { fault: 'abort', outcome: 'http_error', executed: false }
/** Failed for the client alone. */
export const LOST: Ended = { ...FAILED, executed: true }
