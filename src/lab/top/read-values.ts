import { type Fields, isRecord } from '../../base/values.ts'
import { foreignCell } from '../../base/text/foreign-text.ts'

/** Something was told that a sidecar does not tell. */
export class NotUnderstoodError extends Error {
  override readonly name = 'NotUnderstoodError'
}

/** The value as an object. */
export function fields(value: unknown): Fields {
  if (isRecord(value)) return value
  throw new NotUnderstoodError('sent something that is not understood')
}

/** A list of objects, no longer than this. */
export function list(value: unknown, most: number): readonly Fields[] {
  if (!Array.isArray(value)) throw new NotUnderstoodError('sent something that is not understood')
  return value.slice(0, most).map(fields)
}

/** A text with nothing that a terminal obeys; empty where there is none. */
export function text(value: unknown, most?: number): string {
  return typeof value === 'string' ? foreignCell(value, most) : ''
}

/** A number that is not below zero; zero where there is none. */
export function amount(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0
}
