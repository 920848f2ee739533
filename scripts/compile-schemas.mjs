// Compiles the schemas of files with ajv into build/checks: what tsc wrote to build/js has the schemas, and imports
// the checks as `#checks/*`.
import { mkdir, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { _, Ajv } from 'ajv'
import standalone from 'ajv/dist/standalone/index.js'
import { SCHEMAS } from '../build/js/admin/api-schemas.js'
import { SETTINGS_SCHEMA } from '../build/js/cluster/injector/settings-schema.js'
import { CALLS_SCHEMA } from '../build/js/lab/load/calls-schema.js'
import { RESULT_SCHEMA } from '../build/js/lab/load/results/result-schema.js'
import { planJsonSchema } from '../build/js/lab/experiment/plan-schema.js'
import { FORMATS } from '../build/js/rules/file/formats.js'
import { rulesJsonSchema } from '../build/js/rules/file/schema.js'
import { sharedSchema, withoutSizes } from './lib/shared-schema.mjs'

const TO = fileURLToPath(new URL('../build/checks/', import.meta.url))
/** Errors with the value and the node that they are about, for messages. */
const DESCRIBED = { allErrors: true, verbose: true, strict: true, allowUnionTypes: true }

await mkdir(TO, { recursive: true })
await write('rules', sharedSchema(rulesJsonSchema()), DESCRIBED)
// The check of rules files checks the rules of a plan as well.
const definitions = { rule: { type: 'object' } }
await write('plan', sharedSchema({ ...planJsonSchema(), definitions }), DESCRIBED)
await write('calls', sharedSchema(CALLS_SCHEMA), DESCRIBED)
await write('settings', sharedSchema(SETTINGS_SCHEMA), DESCRIBED)
await write('result', sharedSchema(RESULT_SCHEMA), { strict: false })
// Clients cut what is too long.
const responses = withoutSizes({ type: 'object', properties: SCHEMAS })
await write('admin', sharedSchema(responses), { strict: false })

async function write(name, schema, options) {
  const ajv = new Ajv({
    messages: false,
    ...options,
    inlineRefs: false,
    formats: Object.fromEntries(Object.keys(FORMATS).map((format) => [format, () => true])),
    code: {
      source: true,
      formats: _`require("formats")`,
      // Any character is any, a line break too: a key that no pattern takes would not be checked.
      regExp: Object.assign((pattern) => new RegExp(pattern, 'su'), {
        code: '((pattern) => new RegExp(pattern, "su"))',
      }),
    },
  })
  let code = standalone.default(ajv, ajv.compile(schema))
  const before = code.length
  for (const [key, node] of Object.entries(schema.definitions)) {
    code = code.replaceAll(` = ${JSON.stringify(node)};`, ` = schema.definitions.${key};`)
  }
  code = code.replace(` = ${JSON.stringify(schema)};`, ' = schema;')
  // A new list for each call would cost the square of the number of errors.
  code = code.replaceAll(/vErrors\.concat\(/g, 'append(vErrors, ')
  const [copies] = /(?<== )\{"[^;]{200}/.exec(code) ?? []
  if (
    options.verbose &&
    (code.length === before || copies !== undefined || /\.concat\(/.test(code))
  ) {
    throw new Error(`ajv writes its code in another way than this script edits: ${copies}`)
  }
  const text = [
    `export const schema = ${JSON.stringify(schema)};`,
    'function append(errors, more) { for (const error of more) errors.push(error); return errors }',
    `export function makeCheck(require) {const module = {};${code}`,
    'return module.exports}',
  ]
  await writeFile(`${TO}${name}.js`, `${text.join('\n')}\n`)
}
