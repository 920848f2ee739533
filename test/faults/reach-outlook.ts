import { expect } from 'vitest'
import type { Fault } from '../../src/filters/fault.ts'
import { createFault } from '../../src/filters/index.ts'
import type { Call } from '../../src/mcp/call.ts'
import { explain } from '../../src/rules/explain/explain.ts'
import { faultOutlook, type ResponseOutlook } from '../../src/rules/explain/fault-outlook.ts'
import type { CompiledRule } from '../../src/rules/match/compiled-rule.ts'
import type { Facts } from '../../src/rules/match/call-facts.ts'
import { compileRules } from '../../src/rules/match/compile.ts'
import { rule } from '../rules/facts.ts'
import type { Form } from './forms.ts'
import type { ReachKind } from './reach-kind.ts'

/** The predicted effect of a fault on messages of one kind. */
export interface Prediction {
  readonly acts: ResponseOutlook['acts']
  readonly reason: ResponseOutlook['reason'] | undefined
  readonly needs: string | undefined
}

const CALL: Call = {
  id: 1,
  method: '',
  name: undefined,
  params: undefined,
  transport: 'streamable-http',
  protocolVersion: undefined,
  progressToken: undefined,
}

const seen = new Map<ReachKind, Facts>()

function factsOf(kind: ReachKind): Facts {
  const { call, play } = kind
  const facts = seen.get(kind) ?? {
    headers: [],
    session: play('all').session,
    client: undefined,
    http: { method: 'POST', path: '/mcp' },
    call: call && { ...CALL, ...call },
  }
  seen.set(kind, facts)
  return facts
}

/** Returns what `explain` predicts of a fault and a message. */
export function foretold({ use }: Form, kind: ReachKind): ResponseOutlook {
  const set = compileRules({ rules: [{ ...rule({ match: kind.match }), faults: [use] }] })
  const outlook = explain(set, factsOf(kind), 0, undefined, kind.batched).rules[0]!
  expect(outlook.failing).toEqual([])
  return outlook.faults[0]!.responses.find(({ on }) => on === kind.on)!
}

/** Kinds of messages of which a rule knows the same: `explain` predicts all their responses at once. */
class Known {
  readonly #rule: CompiledRule
  readonly #kind: ReachKind
  readonly #outlooks = new Map<Form, readonly ResponseOutlook[]>()

  constructor(kind: ReachKind) {
    this.#kind = kind
    this.#rule = compileRules({ rules: [rule({ match: kind.match })] }).rules[0]!
  }

  outlooksOf(form: Form): readonly ResponseOutlook[] {
    const { batched = false } = this.#kind
    const found =
      this.#outlooks.get(form) ??
      faultOutlook(form.use, faultOf(form), this.#rule, factsOf(this.#kind), batched)
    this.#outlooks.set(form, found)
    return found
  }
}

const faults = new Map<Form, Fault>()
const faultOf = (form: Form): Fault => {
  const fault = faults.get(form) ?? createFault(form.use)
  faults.set(form, fault)
  return fault
}

const byFacts = new Map<string, Known>()
const byKind = new Map<ReachKind, Known>()

function knownOf(kind: ReachKind): Known {
  const before = byKind.get(kind)
  if (before !== undefined) return before
  const key = JSON.stringify([kind.match, kind.batched, factsOf(kind)])
  const known = byFacts.get(key) ?? new Known(kind)
  byFacts.set(key, known)
  byKind.set(kind, known)
  return known
}

/** Returns the prediction for a kind of messages, without a rule of its own. */
export function outlookOf(form: Form, kind: ReachKind): ResponseOutlook {
  return knownOf(kind)
    .outlooksOf(form)
    .find(({ on }) => on === kind.on)!
}

/** Returns the predictions for many kinds of messages. */
export function predictionsOf(form: Form, kinds: readonly ReachKind[]): readonly Prediction[] {
  return kinds.map((kind) => {
    const { acts, reason, needs } = outlookOf(form, kind)
    return { acts, reason, needs }
  })
}

/** Groups forms of a fault that act on the same messages; the first one stands for all. */
export function alike(
  forms: readonly Form[],
  kinds: readonly ReachKind[],
): readonly (readonly Form[])[] {
  const groups = new Map<string, Form[]>()
  for (const form of forms) {
    const key = JSON.stringify([form.fault, predictionsOf(form, kinds)])
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [form])
    else group.push(form)
  }
  return [...groups.values()]
}
