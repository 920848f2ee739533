// Tells of each file of the program that V8 is given from here on.
'use strict'
const vm = require('node:vm')

/** @param {(script: InstanceType<typeof vm.Script>, filename: string) => void} tell */
module.exports = function onScript(tell) {
  vm.Script = class extends vm.Script {
    /** @param {string} code @param {import('node:vm').ScriptOptions} options */
    constructor(code, options) {
      super(code, options)
      tell(this, options.filename ?? '')
    }
  }
}
