import * as Type from 'typebox'
import { API } from '#admin-api'
import { plain } from '#base'
import { defineTool, FOREIGN, READ_ONLY } from './control-tool.ts'
import { chosenSidecar, SIDECAR } from './open-sidecars.ts'
import { closed, listOf } from './shapes.ts'

/** Says what agents did after faults and errors. */
export const WHAT_AGENTS_DID = defineTool({
  name: 'what_agents_did',
  title: 'Report what agents did',
  description:
    'Reports what agents did wrong after faults and errors, such as duplicate writes and retries without backoff: the 20 most harmful findings, each with counts and advice.',
  annotations: READ_ONLY,
  input: closed({ sidecar: SIDECAR }),
  output: Type.Object({
    note: Type.String(),
    findings: listOf({
      severity: Type.String(),
      source: Type.String({ description: 'Source of the calls: agent, or load for squall load.' }),
      sentence: Type.String(),
      advice: Type.String(),
      cure: Type.Optional(Type.String({ description: 'The section of the docs with code.' })),
    }),
  }),
  run: async ({ sidecar }, { control }) => {
    const { findings } = await chosenSidecar(control, sidecar).ask(API.agents)
    const shown = findings.map(({ severity, source, sentence, advice, cure }) => ({
      severity,
      source,
      sentence,
      advice,
      ...(cure && { cure: cure.page }),
    }))
    const lines = shown.map(({ source, sentence, advice }) =>
      plain(`${source === 'load' ? 'squall load: ' : ''}${sentence} ${advice}`),
    )
    const text = [FOREIGN, ...(lines.length === 0 ? ['No findings yet.'] : lines)].join('\n')
    return { text, data: { note: FOREIGN, findings: shown } }
  },
})
