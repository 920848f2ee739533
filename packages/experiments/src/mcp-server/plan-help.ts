import { shownUrl } from '#base'
import { rulesJsonSchema } from '#rules'
import * as Type from 'typebox'
import { planJsonSchema } from '../experiment/plan-schema.ts'
import { type Control, defineTool, READ_ONLY } from './control-tool.ts'
import { DeniedError } from '../policy/denied-error.ts'
import { adminUrl } from './open-sidecars.ts'
import { closed, maybeText } from './shapes.ts'

interface Opened {
  readonly targets: Control['targets']
  readonly bounds: Pick<Control['bounds'], 'sidecars'>
}

/** Returns a plan to start from, for what the server opens. */
export function examplePlan({ targets, bounds }: Opened): string {
  const [sidecar] = bounds.sidecars
  const admin = sidecar === undefined ? 'http://127.0.0.1:15390' : adminUrl(sidecar).origin
  return `name: slow-weather          # letters, digits, . _ -
target:
  url: ${targets[0] === undefined ? 'http://127.0.0.1:15300/mcp' : shownUrl(targets[0])}
  environment: staging
sidecar:
  admin: ${admin}
  rulesFile: ${sidecar?.rulesFile ?? 'rules.yaml'}
steadyState:                # before and after the stages
  errors: 1%
  for: 5s
rules:
  - name: slow
    match: { tool: get_weather }
    faults:
      - delay: { fixed: 2s }
stages: [5%, 10%, 25%]      # shares of the calls, ascending
hold: 30s                   # time of each stage
load:
  clients: 2
  rate: 10/s
  tools: [get_weather]
abortOn:                    # ends the run at once
  errors: { limit: 5%, for: 5s }
  p95: 10s
slo:                        # decides the verdict of each stage
  success: 95%
`
}

/** Returns the JSON Schema of each section of plans, without what describe_faults shows. */
export function planSections() {
  const { properties = {} } = planJsonSchema()
  const { definitions = {} } = rulesJsonSchema()
  const { rule = {}, ...match } = definitions
  const faults = { description: 'List of names, or of NAME: { parameters }; call describe_faults.' }
  const rules = { ...rule, properties: { ...rule.properties, faults } }
  return new Map(Object.entries({ ...properties, rules, ...match }))
}

/** Shows plans section by section: their whole schema is long. */
export const DESCRIBE_PLAN = defineTool({
  name: 'describe_plan',
  title: 'Describe plans',
  description:
    'Shows an example plan and the sections of a plan, or the JSON Schema of one section.',
  annotations: READ_ONLY,
  input: closed({ section: maybeText('A section, such as abortOn or rules.', 50) }),
  output: Type.Object({ sections: Type.Array(Type.String()) }),
  run: async ({ section }, { control }) => {
    const sections = planSections()
    const names = [...sections.keys()]
    if (section === undefined) {
      const lines = [...sections].map(([name, { description = '' }]) => `${name}: ${description}`)
      const text = [examplePlan(control), ...lines].join('\n')
      return { text, data: { sections: names } }
    }
    const found = sections.get(section)
    if (found === undefined) {
      throw new DeniedError(`section: unknown section; use one of ${names.join(', ')}`)
    }
    return { text: JSON.stringify(found), data: { sections: [section] } }
  },
})
