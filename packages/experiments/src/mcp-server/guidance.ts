import { fromJsonSchema, type McpServer, ResourceTemplate } from '@modelcontextprotocol/server'
import { shortened } from '#base'
import { experimentMarkdown } from '../experiment/experiment-report.ts'
import { readHistory } from '../experiment/history.ts'
import { policyBlock } from '../policy/policy-block.ts'
import { type Control, FOREIGN } from './control-tool.ts'
import { freezePolicy } from '../policy/frozen-policy.ts'
import { planSections } from './plan-help.ts'
import { pastResult } from './history-tools.ts'

const LISTED = 20
const MAX_TEXT = 100_000

/** Adds the resources and the prompts of a server. */
export function addGuidance(server: McpServer, control: Control): void {
  addResources(server, control)
  addPrompts(server, control)
}

function addResources(server: McpServer, control: Control): void {
  const { experiments } = control.access
  const add = (
    name: string,
    uri: string,
    description: string,
    mimeType: string,
    read: () => string | Promise<string>,
  ): void => {
    server.registerResource(name, uri, { description, mimeType }, async () => ({
      contents: [{ uri, mimeType, text: await read() }],
    }))
  }
  add('policy', 'squall://policy', 'The limits of experiments.', 'text/markdown', async () =>
    policyBlock((await freezePolicy(control)).read(), 'claude'),
  )
  const schema = 'application/schema+json'
  for (const [name, section] of planSections()) {
    const uri = `squall://schemas/plan/${name}`
    add(name, uri, `JSON Schema of ${name} in plans.`, schema, () => JSON.stringify(section))
  }
  const template = new ResourceTemplate('squall://experiments/{id}', {
    list: async () => ({
      resources: (await readHistory(experiments)).slice(-LISTED).map(({ id, name, verdict }) => ({
        uri: `squall://experiments/${id}`,
        name: id,
        description: `${name}: ${verdict}`,
        mimeType: 'text/markdown',
      })),
    }),
  })
  const about = { description: 'Report of a past experiment.', mimeType: 'text/markdown' }
  server.registerResource('report', template, about, async (uri, { id }) => ({
    contents: [
      { uri: uri.href, mimeType: about.mimeType, text: await reportOf(experiments, String(id)) },
    ],
  }))
}

function addPrompts(server: McpServer, { access }: Control): void {
  const { experiments } = access
  const message = (text: string) => ({
    messages: [{ role: 'user' as const, content: { type: 'text' as const, text } }],
  })
  const argument = (name: string, description: string, required: boolean) =>
    fromJsonSchema<Readonly<Record<string, string>>>({
      type: 'object',
      properties: { [name]: { type: 'string', description, maxLength: 256 } },
      required: required ? [name] : [],
    })
  server.registerPrompt(
    'design_experiments',
    {
      description: 'Designs experiments for a target, beginning with the smallest effect.',
      argsSchema: argument('goal', 'The question that the experiments should answer.', false),
    },
    ({ goal = 'how the agents and services behave when the MCP server is slow or fails' }) =>
      message(
        `Design chaos experiments with the tools of squall. Question: ${goal}.\n\n1. Read squall://policy, then call list_targets, observe, suggest_slo and list_experiments.\n2. Write a hypothesis with a number for each experiment, such as "95 % of the calls succeed while 10 % are delayed by 2 s".\n3. Begin with one fault on one read-only tool at the smallest share, with steadyState, abortOn and slo.\n4. Call propose_experiment for each plan, and change a plan that is denied; do not change the policy.\n5. Show the plans with their blast radius to the user before run_experiment.`,
      ),
  )
  server.registerPrompt(
    'post_mortem',
    {
      description: 'Writes a post-mortem of a past experiment from its recorded facts.',
      argsSchema: argument('id', 'The ID of the run, or last.', true),
    },
    async ({ id = '' }) =>
      message(
        `Write a post-mortem of this experiment: summary, impact, timeline, detection, recovery, causes, actions. Use only the facts below, and mark what they do not show as unknown. ${FOREIGN}\n\n${await reportOf(experiments, id)}`,
      ),
  )
  server.registerPrompt(
    'review_tool',
    {
      description: 'Reviews the reliability of the handler of a tool, with measured evidence.',
      argsSchema: argument('tool', 'The name of the tool.', true),
    },
    async ({ tool = '' }) => {
      const past = await readHistory(experiments)
      const last = past.at(-1)?.id
      const evidence =
        last === undefined ? 'There are no past experiments.' : await reportOf(experiments, last)
      return message(
        `Review the handler of the MCP tool ${JSON.stringify(tool)} in this code base: timeouts of its own calls, retries and their limits, idempotency, error results that a model can act on, and bounded memory. Compare the code with the measured evidence of the last experiment. Call get_experiment for more. ${FOREIGN}\n\n${evidence}`,
      )
    },
  )
}

async function reportOf(experiments: string, id: string): Promise<string> {
  return shortened(experimentMarkdown(await pastResult(experiments, id)), MAX_TEXT)
}
