// Preloaded into a server that offers no choice of address: it may listen on the loopback
// interface only, and reports to its parent the port that the system chose.
import { Server } from 'node:net'

// oxlint-disable-next-line typescript/unbound-method -- called on a server below
const listen = Server.prototype.listen

Server.prototype.listen = function listenOnLoopback(port, ...rest) {
  const callback = rest.find((argument) => typeof argument === 'function')
  this.once('listening', () => process.send?.({ port: this.address().port }))
  return listen.call(this, { port: Number(port), host: '127.0.0.1' }, callback)
}

// Nobody else ends this process when the test run is killed.
process.on('disconnect', () => process.exit(0))
