import { nearestName, seededRandom } from '#base'
import { responseKey } from './baseline.ts'
import type { CallSpec, LoadWork } from './load-options.ts'
import type { Expectation } from './expectation.ts'
import { LoadError } from './load-error.ts'
import type { ToolInfo } from './clients/load-client.ts'
import { argumentsFor } from './arguments/make-arguments.ts'
import { type SchemaCheck, schemaCheck } from './arguments/schema-check.ts'

/** A call and the expectations on its result. */
export interface PlannedCall {
  readonly tool: string
  readonly args: Readonly<Record<string, unknown>>
  /** Equal for calls of the same tool with the same arguments. */
  readonly key: string
  readonly expect: readonly Expectation[]
  /** Undefined when the tool has no output schema. */
  readonly fitsSchema: SchemaCheck | undefined
}

/** Returns the calls of a task; equal seeds give equal calls. */
export type CallPlan = (task: number) => readonly PlannedCall[]

/** The number of distinct arguments per tool: small enough that each is repeated. */
const VARIANTS = 16

/** Plans the calls. Throws a `LoadError` when a tool does not exist or cannot be called. */
export function planCalls(
  work: LoadWork,
  tools: readonly ToolInfo[],
  expectations: readonly Expectation[],
  seed: number,
  stream: string,
): CallPlan {
  if (tools.length === 0) {
    throw new LoadError(
      'NO_TOOLS',
      'the server lists no tools',
      'check that --target is the right server, and that no rule hides its tools',
    )
  }
  const named = work.tools.map((tool) => ({ tool, weight: 1, expect: [] }))
  for (const { tool } of expectations) if (tool !== undefined) findTool(tool, tools)
  let sum = 0
  const choices = [...named, ...work.calls].map((spec) => {
    sum += spec.weight
    return { upTo: sum, variants: variantsOf(spec, findTool(spec.tool, tools), expectations, seed) }
  })
  return (task) => {
    const random = seededRandom(seed, `${stream}/task/${task}`)
    return Array.from({ length: work.fanOut }, () => {
      const at = random() * sum
      const { variants } = choices.find(({ upTo }) => at < upTo) ?? choices.at(-1)!
      return variants[Math.floor(random() * variants.length)]!
    })
  }
}

function variantsOf(
  spec: CallSpec,
  tool: ToolInfo,
  expectations: readonly Expectation[],
  seed: number,
): readonly PlannedCall[] {
  const everywhere = expectations.filter(
    (each) => each.tool === undefined || each.tool === tool.name,
  )
  const expect = [...everywhere, ...spec.expect]
  const fitsSchema = tool.outputSchema === undefined ? undefined : schemaCheck(tool.outputSchema)
  const planned = (args: Readonly<Record<string, unknown>>): PlannedCall => {
    return { tool: tool.name, args, key: responseKey(tool.name, args), expect, fitsSchema }
  }
  if (spec.arguments !== undefined) return [planned(spec.arguments)]
  const make = argumentsFor(tool)
  const random = seededRandom(seed, `arguments/${tool.name}`)
  return Array.from({ length: VARIANTS }, () => planned(make(random)))
}

function findTool(name: string, tools: readonly ToolInfo[]): ToolInfo {
  const tool = tools.find((each) => each.name === name)
  if (tool !== undefined) return tool
  const names = tools.map((each) => each.name)
  const near = nearestName(name, names)
  const listed = `${names.slice(0, 20).join(', ')}${names.length > 20 ? ', …' : ''}`
  throw new LoadError(
    'UNKNOWN_TOOL',
    `the server has no tool "${name.slice(0, 80)}"`,
    near === undefined ? `it has ${listed}` : `did you mean ${near}?`,
  )
}
