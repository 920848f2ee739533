import { isRecord, oneLine, parsedJson } from '#base'
import type { Mode } from './injection.ts'
import type { Handler } from './pod.ts'

/** The record of an injection: for people, and for removing the sidecar. */
export interface InjectionStatus {
  readonly mode: Mode
  readonly why: string
  readonly version: string
  /** The port of the sidecar for each port of the upstream. */
  readonly ports: Readonly<Record<string, number>>
  /** The port of the sidecar for each captured destination. */
  readonly outbound?: Readonly<Record<string, number>>
  readonly native: boolean
  /**
   * Kept because controllers, which create most pods, do not show the response of the API server.
   */
  readonly warnings?: readonly string[] | undefined
  readonly undo: Undo
}

/** The previous values of changed fields. */
export interface Undo {
  /** The original handlers of probes and hooks, by `container/probe`. */
  readonly probes?: Readonly<Record<string, Handler>>
  /** Names of ports, by `container/number`. */
  readonly ports?: Readonly<Record<string, string>>
  /** Annotations that were added, with their values. */
  readonly annotations?: Readonly<Record<string, string>>
  /** Lists and maps that were present and empty. */
  readonly empty?: Readonly<Partial<Record<Emptiable, null | readonly [] | Record<string, never>>>>
}

/** The lists and maps of a pod that injection adds to. */
export type Emptiable = 'annotations' | 'labels' | 'initContainers' | 'volumes'

/** Reports a status that the injector did not write. */
export class StatusError extends Error {
  override readonly name = 'StatusError'
  readonly code = 'INVALID_INJECTION_STATUS'

  constructor(key: string) {
    super(
      `the annotation ${key} was not written by the injector, so the sidecar cannot be removed: remove the annotation and the sidecar by hand, or start from the original manifest`,
    )
  }
}

const MAX_LENGTH = 128 * 1024
const MAX_WARNINGS = 10
const MAX_WARNING = 400

/** Returns the warnings for the status, bounded; undefined for none. */
export function keptWarnings(warnings: readonly string[]): readonly string[] | undefined {
  if (warnings.length === 0) return undefined
  return warnings.slice(0, MAX_WARNINGS).map((each) => oneLine(each, MAX_WARNING))
}

/** Returns the status as an annotation; undefined when it is too long. */
export function writeStatus(status: InjectionStatus): string | undefined {
  const text = JSON.stringify(status)
  return text.length <= MAX_LENGTH ? text : undefined
}

/**
 * Reads the status from a pod's annotation. Throws `StatusError` when the injector did not write
 * it.
 */
export function readStatus(text: string, key: string): InjectionStatus {
  const value = text.length <= MAX_LENGTH ? parsedJson(text) : undefined
  if (isStatus(value)) return value
  throw new StatusError(key)
}

function isStatus(value: unknown): value is InjectionStatus {
  if (!isRecord(value) || typeof value['mode'] !== 'string') return false
  const undo = value['undo']
  if (!isRecord(undo)) return false
  const { probes = {}, ports = {}, annotations = {}, empty = {} } = undo
  return (
    isRecord(probes) &&
    Object.values(probes).every(isHandler) &&
    isTexts(ports) &&
    isTexts(annotations) &&
    isRecord(empty) &&
    Object.values(empty).every(isEmpty)
  )
}

function isHandler(value: unknown): boolean {
  return (
    isRecord(value) &&
    Object.entries(value).every(
      ([kind, action]) =>
        (kind === 'httpGet' || kind === 'tcpSocket' || kind === 'grpc') &&
        (action === null || isRecord(action)),
    )
  )
}

function isTexts(value: unknown): boolean {
  return isRecord(value) && Object.values(value).every((each) => typeof each === 'string')
}

function isEmpty(value: unknown): boolean {
  return value === null || (typeof value === 'object' && Object.keys(value).length === 0)
}
