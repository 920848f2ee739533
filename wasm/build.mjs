// Compiles json-scan.ts and writes the module that Squall loads. With --check, only reports whether
// the written module is current.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { main } from 'assemblyscript/asc'

const SOURCE = fileURLToPath(new URL('json-scan.ts', import.meta.url))
const MODULE = fileURLToPath(new URL('../src/base/json/json-scan-module.ts', import.meta.url))

const options = ['-O3', '--runtime', 'stub', '--noAssert', '--enable', 'simd']

async function compiled() {
  const written = new Map()
  const args = ['json-scan.ts', '--outFile', 'json-scan.wasm', ...options]
  const { error } = await main(args, {
    stderr: process.stderr,
    readFile: (name) => (name === 'json-scan.ts' ? readFileSync(SOURCE, 'utf8') : null),
    writeFile: (name, contents) => void written.set(name, contents),
    listFiles: () => [],
  })
  if (error) throw error
  return Buffer.from(written.get('json-scan.wasm'))
}

const base64 = (await compiled()).toString('base64')
const text = `// Generated from wasm/json-scan.ts by npm run scan.

/** The compiled scan, in base64. */
export const JSON_SCAN_MODULE =
  '${base64}'
`
if (!process.argv.includes('--check')) writeFileSync(MODULE, text)
else if (readFileSync(MODULE, 'utf8') !== text) {
  process.stderr.write('src/base/json/json-scan-module.ts is stale: npm run scan\n')
  process.exitCode = 1
}
