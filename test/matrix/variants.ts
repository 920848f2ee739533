import { parse } from 'yaml'
import { type Form, FORMS } from '../faults/forms.ts'
import { CALL_FAULTS, oneFault } from '../faults/one-fault.ts'
import { alike, outlookOf, predictionsOf } from '../faults/reach-outlook.ts'
import type { ReachKind } from '../faults/reach-kind.ts'
import { REACH_KINDS } from '../faults/reach-kinds.ts'
import type { ResponseOutlook } from '../../src/rules/explain/fault-outlook.ts'
import { BY_HAND } from './by-hand.ts'
import type { SettingId } from './settings.ts'
import type { Variant } from './variant.ts'

const [OLDER, MODERN] = ['Client requests', 'Client requests, protocol version 2026-07-28'].map(
  (group) => REACH_KINDS[group]!,
)

const TRANSPORTS: Readonly<Record<SettingId, readonly [readonly ReachKind[], string]>> = {
  json: [OLDER!, 'JSON'],
  sse: [OLDER!, 'event stream'],
  resumable: [OLDER!, 'event stream'],
  push: [OLDER!, 'HTTP+SSE'],
  'modern-json': [MODERN!, 'JSON'],
  'modern-sse': [MODERN!, 'event stream'],
}

/** Returns the kind of message that the call of a variant is in a setting. */
function kindOf(method: Variant['method'], setting: SettingId): ReachKind {
  const [kinds, of] = TRANSPORTS[setting]
  const name = method ?? 'tools/call'
  return kinds.find(({ message, transport }) => message === name && transport === of)!
}

const kindsOf = (method: Variant['method']): readonly ReachKind[] =>
  (Object.keys(TRANSPORTS) as SettingId[]).map((setting) => kindOf(method, setting))

const forms = new Map<string, Form>()

function formOf(text: string): Form {
  const known = forms.get(text)
  if (known !== undefined) return known
  const [use] = oneFault(text).faults
  const form = { fault: use!.fault, text, use: use! }
  forms.set(text, form)
  return form
}

/** Returns what `explain` predicts of a variant. */
export function predictionOf({ form, method }: Variant, setting: SettingId): ResponseOutlook {
  return outlookOf(formOf(form), kindOf(method, setting))
}

/** Returns the method of the rule that a fault has as its example. */
function methodOf(fault: Form['fault']): Variant['method'] {
  const { example } = CALL_FAULTS.find(({ name }) => name === fault)!
  const [{ match }] = parse(example) as [{ readonly match?: { readonly method?: unknown } }]
  return match?.method === 'tools/list' ? 'tools/list' : undefined
}

/** Returns the variants of a fault: those written by hand, and one of each further kind of form. */
function variantsOf(fault: Form['fault']): readonly Variant[] {
  const method = methodOf(fault)
  const kinds = kindsOf(method)
  const own = BY_HAND.filter(({ form }) => form.startsWith(`${fault}:`))
  const keyOf = (form: Form): string => JSON.stringify(predictionsOf(form, kinds))
  const known = new Set(own.map(({ form }) => keyOf(formOf(form))))
  const further = alike(
    FORMS.filter((form) => form.fault === fault),
    kinds,
  ).flatMap(([form]) => (known.has(keyOf(form!)) ? [] : [{ form: form!.text }]))
  return [...own, ...further].map((one) => ({ ...one, fault, ...(method && { method }) }))
}

/** All ways to use the faults that the matrix has. */
export const VARIANTS: readonly Variant[] = CALL_FAULTS.flatMap(({ name }) => variantsOf(name))
