import type { JsonRpcId } from './call.ts'

/** A JSON-RPC message, told apart by what it has. */
export type Message =
  | {
      readonly kind: 'request'
      readonly id: JsonRpcId
      readonly method: string
      readonly params: unknown
    }
  | { readonly kind: 'notification'; readonly method: string; readonly params: unknown }
  | { readonly kind: 'result'; readonly id: JsonRpcId; readonly result: unknown }
  | { readonly kind: 'error'; readonly id: JsonRpcId | null; readonly error: unknown }
