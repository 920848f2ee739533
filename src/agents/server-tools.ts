import type { RequestCall } from '../mcp/call.ts'
import type { Message } from '../mcp/json-rpc.ts'
import { jsonWeight } from '../base/json/json-weight.ts'
import { fieldsOf, isRecord, listOf, textOf } from '../base/values.ts'

/** Further tools count as unsafe, and so do those with a longer name. */
const MAX_TOOLS = 2_000
const MAX_NAME = 128
/** The memory of one output schema, and of all schemas of a server; others stay unknown. */
const MAX_SCHEMA = 256 * 1024
const MAX_SCHEMAS = 4 * 1024 * 1024

/**
 * The effect that a tool declares: `additive` for one that changes something and destroys nothing,
 * `unknown` for one that declares neither of both.
 */
export const TOOL_HINTS = ['read_only', 'additive', 'destructive', 'unknown'] as const
export type ToolHint = (typeof TOOL_HINTS)[number]

/** Receives the result of each call of a tool. */
type OnResult = (call: RequestCall, result: unknown) => void

interface Declared {
  /** True when the tool may be called again. */
  readonly isSafe: boolean
  readonly hint: ToolHint
}

/** Remembers what the tools of one server declare. */
export class ServerTools {
  readonly id: number
  readonly #tools = new Map<string, Declared>()
  readonly #schemas = new Map<string, { readonly schema: unknown; readonly weight: number }>()
  #weight = 0
  readonly #onResult: OnResult | undefined

  constructor(id: number, onResult?: OnResult) {
    this.id = id
    this.#onResult = onResult
  }

  /** Learns from the response to a call. */
  learn(call: RequestCall, message: Message): void {
    if (message.kind !== 'result') return
    if (call.method === 'tools/call') this.#onResult?.(call, message.result)
    if (call.method !== 'tools/list') return
    for (const { name, annotations, outputSchema } of listOf(fieldsOf(message.result)['tools'])) {
      const tool = textOf(name)
      if (tool === undefined || tool.length > MAX_NAME) continue
      if (this.#tools.size >= MAX_TOOLS && !this.#tools.has(tool)) return
      const { idempotentHint, readOnlyHint, destructiveHint } = fieldsOf(annotations)
      const isSafe = idempotentHint === true || readOnlyHint === true
      this.#tools.set(tool, { isSafe, hint: hintIn(destructiveHint, readOnlyHint) })
      this.#keepSchema(tool, outputSchema)
    }
  }

  /** Returns the schema of the structured content of a tool; undefined for unknown ones. */
  outputSchema(tool: string | undefined): unknown {
    return tool === undefined ? undefined : this.#schemas.get(tool)?.schema
  }

  #keepSchema(tool: string, schema: unknown): void {
    this.#weight -= this.#schemas.get(tool)?.weight ?? 0
    this.#schemas.delete(tool)
    if (!isRecord(schema)) return
    const weight = jsonWeight(schema)
    if (weight > MAX_SCHEMA || this.#weight + weight > MAX_SCHEMAS) return
    this.#weight += weight
    this.#schemas.set(tool, { schema, weight })
  }

  /** Returns true when a tool declares `idempotentHint` or `readOnlyHint`. */
  isSafe(tool: string | undefined): boolean {
    return tool !== undefined && this.#tools.get(tool)?.isSafe === true
  }

  /** Returns the effect that a tool declares. */
  hintOf(tool: string): ToolHint {
    return this.#tools.get(tool)?.hint ?? 'unknown'
  }
}

function hintIn(destroys: unknown, reads: unknown): ToolHint {
  if (destroys === true) return 'destructive'
  if (reads === true) return 'read_only'
  return destroys === false ? 'additive' : 'unknown'
}
