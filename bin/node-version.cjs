// Ends the process where Node is too old. Old versions of Node must be able to parse this file.
var least = require('../package.json').engines.node.replace('>=', '')
var want = least.split('.').map(Number)
var found = process.version.replace('v', '').split('.').map(Number)
if (found[0] < want[0] || (found[0] === want[0] && found[1] < want[1])) {
  process.stderr.write(
    'squall: Node ' +
      process.version +
      ' is too old; install Node ' +
      least +
      ' or newer from https://nodejs.org\n',
  )
  process.exit(1)
}
