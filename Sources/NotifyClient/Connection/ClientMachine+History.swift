import NotifyWire

/// Pages of the log, and positions in it.
extension ClientMachine {
    /// The header of a page: its messages follow.
    mutating func pageBegan(_ header: LogPage, _ effects: inout Effects) throws(WireError) {
        guard case .call(.log(let read, let slot, nil)) = requests[header.request] else { throw .unexpected }
        router.begin(header)
        requests.update(header.request) { $0 = .call(.log(read, slot, page: ReceivedLogPage(header))) }
        if header.count == 0 { endPage(header.request, &effects) }
    }

    mutating func pageReceived(_ request: UInt64, _ batch: MessageBatch, _ effects: inout Effects) {
        var isComplete = false
        requests.update(request) { entry in
            guard case .call(.log(let read, let slot, var page?)) = entry else { return }
            page.append(batch)
            isComplete = page.isComplete
            entry = .call(.log(read, slot, page: page))
        }
        if isComplete { endPage(request, &effects) }
    }

    private mutating func endPage(_ request: UInt64, _ effects: inout Effects) {
        guard case .call(.log(_, let slot, let page?)) = requests.take(request) else { return }
        effects.answer(slot, .success(page))
    }

    /// Ends a request that waits at the end of the log, because its caller no longer does. The daemon answers it.
    mutating func endRead(answering slot: AnyObject) {
        let request = requests.firstRequest { entry in
            guard case .call(.log(let read, let mine, nil)) = entry else { return false }
            return (read.isWaiting || read.awaitsPending) && mine === slot
        }
        if let request, connection.isReady { EndRead(request: request).write(to: &outgoing) }
    }

    mutating func foundReceived(_ found: Found, _ effects: inout Effects) throws(WireError) {
        guard case .call(.find(_, let slot)) = try takeRequest(found.request) else { throw .unexpected }
        effects.answer(slot, .success(found))
    }
}
