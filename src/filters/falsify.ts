import { canonicalJson } from '../base/json/canonical-json.ts'
import type { TextEdit } from '../base/json/json-edit.ts'
import { type JsonNode, valueOf } from '../base/json/json-node.ts'
import { isRecord } from '../base/values.ts'
import { oneOf, percentage, section } from './lib/config-schema.ts'
import { changingLast, editResult, resultParts } from './lib/json/json-part.ts'
import { defineFault, type FalseValue, type Fault, type FaultContext } from './fault.ts'
import * as Type from 'typebox'

/** Plausible wrong values in a result. */
export const falsify = defineFault({
  name: 'falsify',
  summary: 'puts plausible wrong values into a result and follows what the agent does with them',
  meets:
    'A valid result with a wrong number. Within a task, the same call gets the true result next.',
  elsewhere: 'No fault tool changes the meaning of a result.',
  example: `- name: wrong-price
  match: { tool: get_quote }
  faults:
    - falsify: { number: { by: 5% }, at: /price }`,
  schema: section({
    number: section({ by: percentage({ default: 5, description: 'Changes the number by this.' }) }),
    at: Type.String({
      pattern: '^/',
      description: 'JSON Pointer to the number.',
      examples: ['/price'],
    }),
    onUse: Type.Optional(
      oneOf(['block', 'allow'], {
        description:
          '`block` or `allow` later calls that use the false value. By default, calls of tools that declare `destructiveHint`, or no effect, are blocked.',
      }),
    ),
  }),
  create({ number: { by }, at, onUse }): Fault {
    const keys = at.slice(1).split('/')
    return {
      changes: true,
      ...changingLast((ctx, frame) => {
        const sent = ctx.memory(() => new Set<string>())
        const key = keyOf(ctx)
        if (sent.has(key)) return undefined
        const values: FalseValue[] = []
        const edits = (text: string, result: JsonNode): readonly TextEdit[] =>
          resultParts(text, result).flatMap((part) => {
            const node = keys.reduce<JsonNode | undefined>(
              (inner, each) => valueOf(inner, each),
              part.node,
            )
            if (node?.kind !== 'number') return []
            const falseText = (node.value * (1 + by / 100)).toFixed(2)
            values.push({
              falseText,
              trueText: part.text.slice(node.start, node.end),
              kind: 'number',
            })
            return part.outer([{ start: node.start, end: node.end, text: falseText }])
          })
        const falsified = editResult(frame, edits)
        if (falsified === undefined) return undefined
        sent.add(key)
        ctx.injected('number')
        ctx.host.falsified(values, onUse)
        return falsified
      }),
    }
  },
})

function keyOf({ call, session, caller }: FaultContext): string {
  const args = isRecord(call?.params) ? call.params['arguments'] : undefined
  return canonicalJson([session ?? caller ?? '', call?.name ?? '', args ?? null])
}
