import type { Upstream } from '../http/transfer.ts'
import type { ExchangeRun } from './exchange-run.ts'
import { FaultedUpstream } from './faults/source/faulted-upstream.ts'
import type { PushStream } from './faults/source/push-stream.ts'
import { PushUpstream } from './faults/source/push-upstream.ts'
import { LateUpstream } from './late-upstream.ts'
import type { MemoryBudget } from './memory-budget.ts'
import { markSent } from './plan-calls.ts'

interface Parts {
  readonly upstream: Upstream
  readonly memory: MemoryBudget
  readonly holdTimeout: number
  readonly now: () => number
}

/** Returns the upstream as one exchange meets it. */
export function upstreamFor(
  { faults, behind, entries }: ExchangeRun,
  { upstream, memory, holdTimeout, now }: Parts,
  push: PushStream | undefined,
): Upstream {
  let to = upstream
  if (behind !== undefined) {
    const sent = (): void => void markSent(entries, now)
    const atMost = memory.exceeded ? 0 : holdTimeout
    to = new LateUpstream(to, { behind, atMost, sent })
  }
  if (faults !== undefined) to = new FaultedUpstream(to, faults)
  return push === undefined ? to : new PushUpstream(to, push)
}
