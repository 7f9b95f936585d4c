import NotifyBroker

/// Interim turns: after many connections have ended or were half-closed within one poll of the event loop, the driver
/// reads from the other connections itself and runs a tick, before the loop continues with the events of the poll.
extension BrokerDriver {
    /// The maximum number of connections read in an interim turn. The next interim turn continues with the connections
    /// after these.
    private static let readPerTurn = 1024

    /// Reads from other connections, and runs a tick. Must not be called within a tick.
    func runInterimTurn() {
        for handler in takeReadable() { handler.readAhead() }
        tick()
    }

    /// Lets the event loop read again from the connections that interim turns have read. Must be called once the loop
    /// has handled the events of its poll.
    func endReadingAhead() {
        guard !readAhead.isEmpty else { return }
        for handler in readAhead { handler.endReadingAhead() }
        readAhead.removeAll()
    }

    /// Takes connections with bytes to read whose peers have neither closed nor half-closed them.
    private func takeReadable() -> ArraySlice<ConnectionHandler> {
        let start = min(nextReadAhead, handlers.count)
        let reading = (handlers[start...] + handlers[..<start]).compactMap { $0?.readableDescriptor == nil ? nil : $0 }
        let areOpen = SocketPoll.areReadableAndOpen(reading.map { $0.readableDescriptor ?? -1 })
        let ready = zip(reading, areOpen).filter(\.1).map(\.0).prefix(Self.readPerTurn)
        nextReadAhead = (ready.last?.id?.slot.index ?? -1) + 1
        return ready
    }
}
