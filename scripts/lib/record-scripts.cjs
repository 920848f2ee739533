// For --require: writes what V8 kept of compiling each file of the program, when the program ends.
'use strict'
const fs = require('node:fs')
const path = require('node:path')
const vm = require('node:vm')

/** @type {Map<string, InstanceType<typeof vm.Script>>} */
const scripts = new Map()

vm.Script = class extends vm.Script {
  /** @param {string} code @param {import('node:vm').ScriptOptions} options */
  constructor(code, options) {
    super(code, options)
    scripts.set(options.filename ?? '', this)
  }
}

process.once('exit', () => {
  for (const [file, script] of scripts) {
    const folder = path.join(
      path.dirname(file),
      '../code-cache',
      `${process.version}-${process.arch}`,
    )
    const to = path.join(folder, path.basename(file))
    const made = script.createCachedData()
    // Who ran more of a file keeps more of it.
    if (made.length <= (fs.statSync(to, { throwIfNoEntry: false })?.size ?? 0)) continue
    fs.mkdirSync(folder, { recursive: true })
    fs.writeFileSync(to, made)
  }
})
