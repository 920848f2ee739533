import type { AnswerKind, AnswerOutlook } from './fault-outlook.ts'

/** One fault of a rule that hits. */
export interface ReachedFault {
  /** Its rule and the fault. */
  readonly name: string
  /** Faults of rules about HTTP have their turn first, and end the exchange for all. */
  readonly isHttp: boolean
  readonly answers: readonly AnswerOutlook[]
}

/**
 * What the faults of all rules that hit come to together, in their order: where one keeps the call
 * from the app, those behind it have no turn, and none has anything of an answer to act on.
 */
export function reached(
  faults: readonly ReachedFault[],
  batched: boolean,
): readonly (readonly AnswerOutlook[])[] {
  const ofHttp = faults.filter(({ isHttp }) => isHttp)
  const ofCall = faults.filter(({ isHttp }) => !isHttp)
  const inOrder = [...ofHttp, ...ofCall]
  const endsHttp = ofHttp.find((fault) => endsOn(fault, 'http'))
  // Of a batch, the rest goes on.
  const endsCall = batched ? undefined : ofCall.find(({ answers }) => answers.some(endsHere))
  return faults.map((fault) =>
    fault.answers.map((answer) => {
      const { on, here, acts, by } = answer
      const last = endsHttp ?? (fault.isHttp ? endsCall : ofCall.find((each) => endsOn(each, on)))
      if (acts === 'no' || last === undefined || last === fault) return answer
      const isInTime = by === 'request' && inOrder.indexOf(fault) < inOrder.indexOf(last)
      return isInTime ? answer : { on, here, acts: 'no', behind: last.name }
    }),
  )
}

function endsOn({ answers }: ReachedFault, kind: AnswerKind): boolean {
  return answers.some(({ on, ends }) => on === kind && ends === true)
}

function endsHere({ here, ends }: AnswerOutlook): boolean {
  return here && ends === true
}
