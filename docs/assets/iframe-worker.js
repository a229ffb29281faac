// A page opened from disk may not start a Worker. There, a hidden frame does the worker's job, so
// that the search of this site works offline. It knows what the search needs, and no more.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      frame.title = "search"
      document.body.appendChild(frame)
      this.inside = frame.contentWindow
      addEventListener("message", event => {
        if (event.source === this.inside) {
          this.dispatchEvent(new MessageEvent("message", { data: event.data }))
        }
      })
      this.ready = new Promise(resolve => { frame.onload = resolve })
      const start = "postMessage = data => parent.dispatchEvent("
        + "new MessageEvent('message', { data, source: window }))"
      frame.srcdoc = `<script>${start}<\/script><script src="${url}"><\/script>`
    }

    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })))
    }
  }
}
