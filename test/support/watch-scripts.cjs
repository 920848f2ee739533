// For --require: writes to the file that WATCHED names which files of the program V8 had to compile, and which
// flags it was given, one a line.
'use strict'
const { appendFileSync } = require('node:fs')
const path = require('node:path')
const v8 = require('node:v8')
const vm = require('node:vm')

const note = (/** @type {string} */ what) => appendFileSync(process.env.WATCHED ?? '', `${what}\n`)

vm.Script = class extends vm.Script {
  /** @param {string} code @param {import('node:vm').ScriptOptions} options */
  constructor(code, options) {
    super(code, options)
    const how = { true: 'refused', false: 'taken', undefined: 'none' }
    note(`cache ${how[`${this.cachedDataRejected}`]} ${path.basename(options.filename ?? '')}`)
  }
}

const { setFlagsFromString } = v8
v8.setFlagsFromString = (flag) => {
  note(`flag ${flag}`)
  setFlagsFromString(flag)
}
