import type { CallFacts } from '../rules/call-facts.ts'
import { compileRules } from '../rules/compile.ts'
import { explain } from '../rules/explain.ts'
import { explainText } from '../rules/explain-text.ts'
import { problemLines } from '../rules/problem-format.ts'
import { readRulesFile } from './rules-file.ts'
import type { ExplainRequest } from './rules-options.ts'

const FAILED = 1

/** Says what the rules of a file make of one call; the result is the exit code. */
export async function explainCommand(
  request: ExplainRequest,
  write: (text: string) => void = (text) => void process.stdout.write(text),
): Promise<number> {
  const { file } = request
  const parsed = await readRulesFile(file)
  if (!parsed.ok) {
    write(problemLines({ file, problems: parsed.problems }))
    return FAILED
  }
  const ruleSet = compileRules({ ...parsed.file, rules: parsed.file.rules ?? [] })
  const explanation = explain(ruleSet, factsOf(request), Date.now())
  write(request.json ? `${JSON.stringify(explanation, null, 2)}\n` : explainText(explanation))
  return 0
}

function factsOf({ method, name, args, era, ...rest }: ExplainRequest): CallFacts {
  const key = method.startsWith('resources/') ? 'uri' : 'name'
  const params = { ...(name === undefined ? {} : { [key]: name }), arguments: args }
  const { transport, headers, session, client } = rest
  return {
    call: { id: 1, method, name, params, transport, revision: era, progressToken: undefined },
    headers,
    session,
    client,
    http: { method: 'POST', path: '/mcp' },
  }
}
