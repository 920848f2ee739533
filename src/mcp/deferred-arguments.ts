import { asBuffer } from '../base/bytes.ts'
import { jsonWeight } from '../base/json/json-weight.ts'
import { isRecord } from '../base/values.ts'

/** Arguments that are parsed when they are read for the first time. */
export interface DeferredArguments {
  readonly text: Uint8Array
  /** The most memory that the parameters take. */
  readonly weight: number
}

const DEFERRED = Symbol('deferred')

/** Gives parameters their arguments, without parsing these. */
export function deferArguments(params: object, deferred: DeferredArguments): void {
  const set = (rest: PropertyDescriptor): unknown =>
    Object.defineProperty(params, 'arguments', { configurable: true, enumerable: true, ...rest })
  const get = (): unknown => {
    const value: unknown = JSON.parse(asBuffer(deferred.text).toString())
    set({ value })
    return value
  }
  set({ get })
  Object.defineProperty(params, DEFERRED, { value: deferred })
}

/** Returns arguments that were deferred, parsed by now or not; undefined for others. */
export function deferredArguments(params: unknown): DeferredArguments | undefined {
  if (!isRecord(params)) return undefined
  return (params as { readonly [DEFERRED]?: DeferredArguments })[DEFERRED]
}

/** Returns the memory that parameters take. */
export function paramsWeight(params: unknown): number {
  return deferredArguments(params)?.weight ?? jsonWeight(params)
}
