import type { ResponseKind, ResponseOutlook } from './fault-outlook.ts'

/** One fault of a matched rule. */
export interface ReachedFault {
  /** Its rule and the fault. */
  readonly name: string
  /** Faults of rules about HTTP have their turn first, and end the exchange for all. */
  readonly isHttp: boolean
  readonly responses: readonly ResponseOutlook[]
}

/**
 * Combines the faults of all injected rules in their order. After a fault that keeps the call from the
 * upstream, no later fault acts, and no fault has a response to act on.
 */
export function reached(
  faults: readonly ReachedFault[],
  batched: boolean,
): readonly (readonly ResponseOutlook[])[] {
  const ofHttp = faults.filter(({ isHttp }) => isHttp)
  const ofCall = faults.filter(({ isHttp }) => !isHttp)
  const inOrder = [...ofHttp, ...ofCall]
  const endsHttp = ofHttp.find((fault) => endsOn(fault, 'http'))
  // The other calls of a batch continue.
  const endsCall = batched ? undefined : ofCall.find(({ responses }) => responses.some(endsHere))
  return faults.map((fault) =>
    fault.responses.map((response) => {
      const { on, here, acts, by } = response
      const last = endsHttp ?? (fault.isHttp ? endsCall : ofCall.find((each) => endsOn(each, on)))
      if (acts === 'no' || last === undefined || last === fault) return response
      const isInTime = by === 'request' && inOrder.indexOf(fault) < inOrder.indexOf(last)
      return isInTime ? response : { on, here, acts: 'no', behind: last.name }
    }),
  )
}

function endsOn({ responses }: ReachedFault, kind: ResponseKind): boolean {
  return responses.some(({ on, ends }) => on === kind && ends === true)
}

function endsHere({ here, ends }: ResponseOutlook): boolean {
  return here && ends === true
}
