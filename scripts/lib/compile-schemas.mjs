import { mkdir, writeFile } from 'node:fs/promises'
import { _, Ajv } from 'ajv'
import standalone from 'ajv/dist/standalone/index.js'
import { sharedSchema } from './shared-schema.mjs'

/** Errors with the value and the node that they are about, for messages. */
const DESCRIBED = { allErrors: true, verbose: true, strict: true, allowUnionTypes: true }

/** The checks of schemas. */
const CHECKS = [
  'baseline',
  'calls',
  'change',
  'experiment',
  'history',
  'plan',
  'policy',
  'result',
  'rules',
  'settings',
]

/** Compiles the schemas of files with ajv: `js` in a directory has the schemas, `checks` gets the checks, imported as `#checks/*`. */
export async function compileSchemas(own) {
  const built = (path) => import(`${own}js/${path}`)
  await mkdir(`${own}checks`, { recursive: true })
  // Modules that use checks are loaded with the schemas, before there are any.
  for (const name of CHECKS) {
    await writeFile(
      `${own}checks/${name}.js`,
      'export const schema = {}, makeCheck = () => () => true\n',
    )
  }
  const { FAULTS } = await built('src/filters/index.js')
  // The schema of the settings reads the names.
  const names = JSON.stringify(FAULTS.map(({ name }) => name))
  await writeFile(`${own}checks/fault-names.js`, `export const FAULT_NAMES = ${names}\n`)
  const { FORMATS } = await built('src/rules/file/formats.js')
  const { SCHEMAS } = await built('src/admin/contract/api-schemas.js')
  const { SETTINGS_SCHEMA } = await built('packages/kubernetes/src/injector/settings-schema.js')
  const { BASELINE_SCHEMA, CALLS_SCHEMA } = await built(
    'packages/experiments/src/load/file-schemas.js',
  )
  const { RESULT_SCHEMA } = await built('packages/experiments/src/load/results/result.js')
  const { HISTORY_SCHEMA, STORED_SCHEMA } = await built(
    'packages/experiments/src/experiment/experiment-result.js',
  )
  const { planJsonSchema } = await built('packages/experiments/src/experiment/plan-schema.js')
  const { policyJsonSchema } = await built('src/rules/policy/policy-schema.js')
  const { rulesJsonSchema } = await built('src/rules/file/schema.js')
  const write = async (name, schema, options) => {
    if (!CHECKS.includes(name)) throw new Error(`add ${name} to CHECKS`)
    await writeFile(
      `${own}checks/${name}.js`,
      checkOf(schema, { ...options, formats: formatsOf(FORMATS) }),
    )
  }
  await write('rules', sharedSchema(rulesJsonSchema()), DESCRIBED)
  // The check of rules files checks the rules of a plan as well.
  const definitions = { rule: { type: 'object' } }
  await write('plan', sharedSchema({ ...planJsonSchema(), definitions }), DESCRIBED)
  await write('policy', sharedSchema(policyJsonSchema()), DESCRIBED)
  await write('calls', sharedSchema(CALLS_SCHEMA), DESCRIBED)
  await write('settings', sharedSchema(SETTINGS_SCHEMA), DESCRIBED)
  await write('result', sharedSchema(RESULT_SCHEMA), { strict: false })
  await write('baseline', sharedSchema(BASELINE_SCHEMA), { strict: false })
  await write('history', sharedSchema(HISTORY_SCHEMA), { strict: false })
  await write('experiment', sharedSchema(STORED_SCHEMA), { strict: false })
  await write('change', sharedSchema(SCHEMAS.change), { strict: false })
}

function formatsOf(formats) {
  return Object.fromEntries(Object.keys(formats).map((format) => [format, () => true]))
}

function checkOf(schema, options) {
  const ajv = new Ajv({
    messages: false,
    ...options,
    inlineRefs: false,
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
  return `${text.join('\n')}\n`
}
