// Puts the validators of rules files into what tsc built: compiling them takes longer than all else that
// a start does. Takes another folder than build/js/ as its argument.
import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { _ } from 'ajv'
import standalone from 'ajv/dist/standalone/index.js'

const rules = new URL('rules/', pathToFileURL(`${resolve(process.argv[2] ?? 'build/js')}/`))
const load = (name) => import(new URL(name, rules).href)
const { checkedNodes, wholeSchema } = await load('checked-nodes.js')
const { schemaKey } = await load('rules-validator.js')
const { rulesJsonSchema } = await load('schema.js')
const { createCompiler } = await load('schema-compiler.js')

const root = rulesJsonSchema()
const compiler = createCompiler({ source: true, esm: true, formats: _`FORMAT_TESTS` })
const names = new Map()
for (const node of checkedNodes(root)) {
  const whole = wholeSchema(node, root.definitions)
  const key = schemaKey(whole)
  if (names.has(key)) continue
  const name = `validator${names.size}`
  compiler.addSchema(whole, name)
  names.set(key, name)
}

const code = standalone.default(
  compiler,
  Object.fromEntries([...names.values()].map((name) => [name, name])),
)
const entries = [...names].map(([key, name]) => `  ['${key}', ${name}],\n`)
await writeFile(
  new URL('made-validators.js', rules),
  `import { createRequire } from 'node:module'
import { FORMAT_TESTS } from './schema-compiler.js'
const require = createRequire(import.meta.url)
${code}
export const validators = new Map([
${entries.join('')}])
`,
)
