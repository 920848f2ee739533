/** Posts a message in the task `a`, and reads the response to its end. */
export async function postInTask(port: number, message: object | string): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
    method: 'POST',
    headers: {
      accept: 'application/json',
      'content-type': 'application/json',
      'x-task-id': 'a',
    },
    body: typeof message === 'string' ? message : JSON.stringify(message),
  })
  await response.text()
}
