// Compiles the schemas of files with ajv into build/checks: what tsc wrote to build/js has the schemas, and imports
// the checks as `#checks/*`.
import { mkdir, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { _, Ajv } from 'ajv'
import standalone from 'ajv/dist/standalone/index.js'
import { RESULT_SCHEMA } from '../build/js/lab/load/results/result-schema.js'
import { planJsonSchema } from '../build/js/lab/experiment/plan-schema.js'
import { FORMATS } from '../build/js/rules/file/formats.js'
import { rulesJsonSchema } from '../build/js/rules/file/schema.js'
import { sharedSchema } from './lib/shared-schema.mjs'

const TO = fileURLToPath(new URL('../build/checks/', import.meta.url))
/** Errors with the value and the node that they are about, for messages. */
const DESCRIBED = { allErrors: true, verbose: true, strict: true, allowUnionTypes: true }

await mkdir(TO, { recursive: true })
await write('rules', sharedSchema(rulesJsonSchema()), DESCRIBED)
// The check of rules files checks the rules of a plan as well.
const definitions = { rule: { type: 'object' } }
await write('plan', sharedSchema({ ...planJsonSchema(), definitions }), DESCRIBED)
await write('result', sharedSchema({ ...RESULT_SCHEMA, definitions: {} }), { strict: false })

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
  for (const [key, node] of Object.entries(schema.definitions)) {
    code = code.replaceAll(` = ${JSON.stringify(node)};`, ` = schema.definitions.${key};`)
  }
  code = code.replace(` = ${JSON.stringify(schema)};`, ' = schema;')
  // A new list for each call would cost the square of the number of errors.
  code = code.replaceAll(/vErrors\.concat\(/g, 'append(vErrors, ')
  const text = [
    `export const schema = ${JSON.stringify(schema)};`,
    'function append(errors, more) { for (const error of more) errors.push(error); return errors }',
    `export function makeCheck(require) {const module = {};${code}`,
    'return module.exports}',
  ]
  await writeFile(`${TO}${name}.js`, `${text.join('\n')}\n`)
}
