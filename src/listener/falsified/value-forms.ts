import { canonical, wordsIn } from '../../base/text/written-values.ts'
import type { FalseValue } from '../../filters/fault.ts'

/** A value is followed from this number of digits, or characters, on: shorter ones occur by chance. */
const LEAST = { number: 5, text: 6 }
/** A true value shows that the agent looked again from this number on. */
const LEAST_TRUE = { number: 3, text: 4 }
/** A rounded number has at least three digits left, and is written with four. */
const LEAST_ROUNDED = 3
const LEAST_WRITTEN = 4
/** Values with more words are not followed. */
const MAX_WORDS = 32

/** The forms by which a false value and the true one are recognized. */
export interface ValueForms {
  readonly kind: FalseValue['kind']
  /** The value itself first, and then its rounded forms. */
  readonly falsified: readonly string[]
  /** Undefined for a true value that occurs by chance. */
  readonly trueForm: string | undefined
}

/** Returns the forms of a value; undefined where it leaves nothing to recognize. */
export function formsOf({ kind, falseText, trueText }: FalseValue): ValueForms | undefined {
  const [form, truth] = [formOf(falseText, kind), formOf(trueText, kind)]
  if (form === truth || sizeOf(form, kind) < LEAST[kind]) return undefined
  const rounded = kind === 'number' ? roundedForms(Number(form), Number(truth)) : []
  const trueForm = sizeOf(truth, kind) < LEAST_TRUE[kind] ? undefined : truth
  return { kind, falsified: [form, ...rounded], trueForm }
}

/** Returns a number in its canonical form, or words with one space between. */
function formOf(text: string, kind: FalseValue['kind']): string {
  if (kind === 'number')
    return /^-?\d+(?:\.\d+)?$/.test(text) ? canonical(text.replace('-', '')) : ''
  const words = wordsIn(text)
  return words.length <= MAX_WORDS ? words.join(' ') : ''
}

function sizeOf(form: string, kind: FalseValue['kind']): number {
  return kind === 'text' ? form.length : Math.max(0, form.indexOf('e'))
}

/** Returns the rounded forms of a number that the true one does not round to. */
function roundedForms(value: number, truth: number): readonly string[] {
  const forms = new Set<string>()
  for (let kept = LEAST_ROUNDED; kept < sizeOf(canonical(String(value)), 'number'); kept++) {
    const rounded = Number(value.toPrecision(kept))
    const written = String(rounded)
    // Numbers of three digits, and years, occur by chance.
    const isUsual =
      written.replace('.', '').length < LEAST_WRITTEN || /^(?:19|20)\d\d$/.test(written)
    if (!isUsual && rounded !== Number(truth.toPrecision(kept))) forms.add(canonical(written))
  }
  return [...forms]
}
