// Stands for k6/http, whose requests block: a thread makes them while this one waits.
import { MessageChannel, receiveMessageOnPort, Worker } from 'node:worker_threads'

const FETCH = `
const { workerData: { port, flag } } = require('node:worker_threads')
port.on('message', async ([method, url, body, headers]) => {
  let answer = { status: 0, headers: {}, body: '' }
  try {
    const response = await fetch(url, { method, headers, body: body ?? undefined })
    answer = { status: response.status, headers: Object.fromEntries(response.headers), body: await response.text() }
  } catch {}
  port.postMessage(answer)
  Atomics.store(flag, 0, 1)
  Atomics.notify(flag, 0)
})`

const flag = new Int32Array(new SharedArrayBuffer(4))
const { port1, port2 } = new MessageChannel()
const workerData = { port: port2, flag }
new Worker(FETCH, { eval: true, workerData, transferList: [port2] }).unref()

function request(method, url, body, { headers = {} } = {}) {
  const begun = performance.now()
  Atomics.store(flag, 0, 0)
  port1.postMessage([method, url, body, headers])
  if (Atomics.wait(flag, 0, 0, 10_000) === 'timed-out')
    throw new Error('no response from the thread')
  const { message: answer } = receiveMessageOnPort(port1)
  // k6 writes the names of headers with capitals.
  const names = Object.entries(answer.headers).map(([name, value]) => [capital(name), value])
  return {
    ...answer,
    headers: Object.fromEntries(names),
    timings: { duration: performance.now() - begun },
  }
}

function capital(name) {
  return name.replaceAll(/(^|-)[a-z]/g, (letter) => letter.toUpperCase())
}

export default {
  get: (url, params) => request('GET', url, undefined, params),
  post: (url, body, params) => request('POST', url, body, params),
  del: (url, body, params) => request('DELETE', url, body, params),
}
