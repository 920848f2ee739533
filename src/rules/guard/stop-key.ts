import { fieldsOf, isRecord, parsedJson } from '../../base/values.ts'
import { foreign } from '../../base/text/foreign-text.ts'
import { parseLabelSelector } from '../match/pod-match.ts'
import type { PodLabels } from '../watch/pod-labels.ts'

/**
 * The key of the ConfigMap, and the file beside the rules, that stops sidecars. It is never read as
 * a rules file.
 */
export const STOP_KEY = 'squall-stop'

/** One stop: for the pods with certain labels, or for all. */
export interface Stop {
  readonly selector?: string | undefined
  readonly at?: string | undefined
  /** The user's name as the API server knows it. */
  readonly by?: string | undefined
}

const MAX_STOPS = 100

/**
 * Reads the stops in a stop key; undefined when the text is anything else, which then stops all
 * pods. An empty text is one stop of all pods, so that the key can be written by hand. No stops end
 * those that sidecars remember.
 */
export function parseStops(text: string): readonly Stop[] | undefined {
  if (text.trim() === '') return [{}]
  const { stops } = fieldsOf(parsedJson(text))
  if (!Array.isArray(stops) || stops.length > MAX_STOPS || !stops.every(isStop)) return undefined
  return stops
}

/** Returns the text of the key. */
export function stopsText(stops: readonly Stop[]): string {
  return `${JSON.stringify({ stops })}\n`
}

/** Returns why a pod is stopped; undefined when it is not. In doubt it is stopped. */
export function stopReason(text: string, labels: PodLabels | undefined): string | undefined {
  const stops = parseStops(text)
  if (stops === undefined) return `the stop key ${STOP_KEY} cannot be read, which stops all faults`
  const stop = stops.find((each) => isAbout(each, labels))
  if (stop === undefined) return undefined
  const { by, at, selector } = stop
  const words = [
    'squall stop',
    selector === undefined ? '' : `-l ${foreign(selector)}`,
    by === undefined ? '' : `by ${foreign(by)}`,
    at === undefined ? '' : `at ${foreign(at)}`,
  ]
  return words.filter((word) => word !== '').join(' ')
}

function isAbout({ selector }: Stop, labels: PodLabels | undefined): boolean {
  if (selector === undefined || labels === undefined) return true
  return parseLabelSelector(selector)?.(labels) ?? true
}

function isStop(value: unknown): value is Stop {
  if (!isRecord(value)) return false
  const { selector, at, by } = value
  return [selector, at, by].every((each) => each === undefined || typeof each === 'string')
}
