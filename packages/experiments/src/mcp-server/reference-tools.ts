import * as Type from 'typebox'
import { FAULTS, mapOf, problemLines } from '#rules'
import { checkRulesText, explainCall, warningsOf } from '#cli'
import { type ControlTool, defineTool, READ_ONLY } from './control-tool.ts'
import { DeniedError } from '../policy/denied-error.ts'
import { closed, listOf, maybeText, shaped, text } from './shapes.ts'

const MAX_RULES = 256 * 1024
const FILE = 'rules.yaml'

const rules = text('Rules as YAML or JSON; describe_plan shows the keys of a rule.', MAX_RULES)

const PROBLEM = Type.Object({
  line: Type.Number(),
  column: Type.Number(),
  path: Type.String(),
  message: Type.String(),
})

/** Returns a fault by its name, or by a word that another tool or its texts have for it. */
function faultFor(name: string) {
  const word = name.toLowerCase()
  // The tools that are nearest to a fault come first in its text.
  const by = (textOf: (fault: (typeof FAULTS)[number]) => string, part = word) =>
    FAULTS.map((fault) => ({ fault, at: textOf(fault).toLowerCase().indexOf(part) }))
      .filter(({ at }) => at >= 0)
      .toSorted((one, other) => one.at - other.at)[0]?.fault
  return (
    FAULTS.find((fault) => fault.name.toLowerCase() === word) ??
    by(({ otherTools }) => otherTools, `\`${word}\``) ??
    by(({ summary, clientSees }) => `${summary} ${clientSees}`)
  )
}

/** Lists what is known about faults and rules without a sidecar. */
export const REFERENCE_TOOLS: readonly ControlTool[] = [
  defineTool({
    name: 'describe_faults',
    title: 'Describe the faults',
    description:
      'Lists the faults with one sentence each, or shows one fault with its parameters and an example.',
    annotations: READ_ONLY,
    input: closed({ name: maybeText('A fault name, or a search word such as latency.', 256) }),
    output: Type.Object({
      faults: Type.Array(Type.Object({ name: Type.String() })),
    }),
    run: async ({ name }) => {
      if (name === undefined) {
        const faults = FAULTS.map((fault) => ({ name: fault.name, summary: fault.summary }))
        const lines = faults.map((fault) => `${fault.name}: ${fault.summary}`)
        return { text: lines.join('\n'), data: { faults } }
      }
      const found = faultFor(name)
      if (found === undefined) {
        const names = FAULTS.map((fault) => fault.name)
        throw new DeniedError(`name: unknown fault; use one of ${names.join(', ')}`)
      }
      const { summary, clientSees, example, schema: parameters } = found
      const shown = { name: found.name, summary, clientSees, example, parameters }
      return { text: `${summary}\n${clientSees}\n\n${example}`, data: { faults: [shown] } }
    },
  }),
  defineTool({
    name: 'validate_rules',
    title: 'Check rules',
    description: 'Checks rules as squall validate does, and returns all problems with their lines.',
    annotations: READ_ONLY,
    input: closed({ rules }),
    output: Type.Object({
      ok: Type.Boolean(),
      problems: Type.Array(PROBLEM),
      warnings: Type.Array(Type.String(), { description: 'Faults that can never act.' }),
    }),
    run: async ({ rules: written }) => {
      const source = checkRulesText(written, FILE)
      const { files } = source
      const problems = files.flatMap((each) => each.problems)
      const warnings = warningsOf(source).idle.map(
        ({ rule, fault, message }) => `${rule}: ${fault}: ${message}`,
      )
      const ok = problems.length === 0
      const lines = ok ? 'The rules are valid.' : files.map(problemLines).join('')
      const shown = problems.map((problem) => shaped(PROBLEM, problem))
      return { text: [lines, ...warnings].join('\n'), data: { ok, problems: shown, warnings } }
    },
  }),
  defineTool({
    name: 'explain_rules',
    title: 'Explain rules for a call',
    description:
      'Predicts which rules match a call, whether they sample it, and what their faults do.',
    annotations: READ_ONLY,
    input: closed({
      rules,
      tool: maybeText('The called tool.', 256),
      method: maybeText('The method. Default: tools/call.', 256),
      args: Type.Optional(mapOf(Type.Unknown(), { description: 'The arguments of the call.' })),
      headers: Type.Optional(mapOf(Type.String(), { description: 'Headers of the request.' })),
      session: maybeText('The session of the call.', 256),
    }),
    output: Type.Object({
      disarmed: maybeText('Why the rules are disarmed.'),
      rules: listOf({ rule: Type.String(), matches: Type.Boolean() }),
    }),
    run: async ({ rules: written, tool, method = 'tools/call', args, headers = {}, session }) => {
      const { version, files } = checkRulesText(written, FILE)
      if (version.kind === 'rejected') throw new DeniedError(...files.map(problemLines))
      const facts = { headers: Object.entries(headers).flat(), session }
      return explainCall({ method, name: tool, args }, facts, version)
    },
  }),
]
