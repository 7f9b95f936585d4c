import NIOCore
import NotifyLog
import NotifyWire

/// Reading from the store.
extension FakeStore {
    /// The stored message with a sequence, by binary search.
    func message(_ sequence: UInt64) -> Message? {
        var (low, high) = (0, messages.count)
        while low < high {
            let middle = (low + high) / 2
            if messages[middle].sequence < sequence { low = middle + 1 } else { high = middle }
        }
        return low < messages.count && messages[low].sequence == sequence ? messages[low] : nil
    }

    func read(_ request: PageRequest) -> Page.Content {
        if let values = request.values { return readValues(request, values) }
        statistics.pagesRead += 1
        var content = request.isDescending ? readDown(request) : readUp(request)
        content.deletionMark = deletionMark
        for id in request.copiesOf { content.reasons[id] = copies[id]?[request.after + 1]?.reason }
        let scanned =
            request.isDescending
            ? content.scannedThrough...max(content.scannedThrough, request.through)
            : request.after + 1...max(request.after + 1, content.scannedThrough)
        let missed = deletions.filter { mark, message in
            request.deletionMark > 0 && mark > request.deletionMark && scanned.contains(message.sequence)
                && message.matches(request.filter, request.access)
        }.map(\.message.sequence)
        if let first = missed.min(), let last = missed.max() {
            content.deleted = Loss(first: first, last: last, count: UInt64(missed.count), isUpperBound: false)
        }
        return content
    }

    private func readUp(_ request: PageRequest) -> Page.Content {
        var content = Page.Content(block: LogBlock(), scannedThrough: request.after)
        var rows = 0
        for message in messages[messages.firstIndex(after: request.after)...]
        where message.sequence <= request.through {
            guard rows < pageRows, content.block.entries.count < request.maximumMessages,
                content.block.frames.writerIndex < pageBytes
            else { return content }
            rows += 1
            content.scannedThrough = message.sequence
            if damaged.contains(message.sequence) {
                content.damaged.append(message.sequence)
                continue
            }
            guard message.matches(request.filter, request.access) else { continue }
            content.block.append(message)
        }
        content.scannedThrough = min(persistedThrough, request.through)
        return content
    }

    func read(_ request: RedeliveryRequest) -> RedeliveryPage.Content {
        var content = RedeliveryPage.Content(block: LogBlock(), reasons: [])
        for sequence in request.sequences {
            guard let copy = copies[request.subscription]?[sequence] else {
                content.missing.append(sequence)
                continue
            }
            content.block.append(copy.frame, sequence)
            content.reasons.append(copy.reason)
        }
        return content
    }

    private func readDown(_ request: PageRequest) -> Page.Content {
        var content = Page.Content(block: LogBlock(), scannedThrough: min(persistedThrough, request.through) + 1)
        for message in messages.reversed() where (request.after + 1...request.through).contains(message.sequence) {
            guard content.block.entries.count < request.maximumMessages else { return content }
            content.scannedThrough = message.sequence
            guard message.matches(request.filter, request.access) else { continue }
            content.block.append(message)
        }
        content.scannedThrough = request.after + 1
        return content
    }

    func summary(_ request: SummaryRequest) -> LogSummary {
        var totals: [[UInt8]: LogSummary.Totals] = [:]
        for message in messages where (request.first...request.last).contains(message.sequence) {
            guard message.matches(request.filter, request.access) else { continue }
            var one = LogSummary.Totals()
            (one.messages, one.bytes) = (1, UInt64(message.frame.count))
            (one.first, one.firstTime, one.last) = (message.sequence, message.time, message.sequence)
            one.lastTime = message.time
            totals[message.name, default: LogSummary.Totals()].add(one)
        }
        let sorted = totals.sorted { $0.value.bytes > $1.value.bytes }
        var summary = LogSummary()
        summary.names = sorted.prefix(request.maximumNames).map { LogSummary.Name(name: $0.key, totals: $0.value) }
        for (_, rest) in sorted.dropFirst(request.maximumNames) {
            var others = summary.others ?? LogSummary.Totals()
            others.add(rest)
            summary.others = others
        }
        return summary
    }

    /// The backlog of a subscription. Like the log, the store does not count by objects.
    func backlog(of record: DurableRecord, under policy: AccessPolicy) -> Backlog {
        let filter = SubscriptionFilter(patterns: record.filter.patterns, object: nil)
        let access = ReadAccess(policy: policy, identities: record.owners)
        let pending = messages.filter { message in
            let isAcknowledged = record.progress.acknowledged.contains {
                ($0.first...$0.last).contains(message.sequence)
            }
            return message.sequence > record.progress.cursor && !isAcknowledged
                && message.matches(filter, access)
        }
        return Backlog(
            messages: UInt64(pending.count), bytes: pending.reduce(0) { $0 + UInt64($1.frame.count) },
            oldestMicroseconds: pending.first?.time, oldestCopyMicroseconds: timeOfOldestCopy(of: record.id),
            isUpperBound: record.filter.object != nil && !pending.isEmpty)
    }

    private func timeOfOldestCopy(of id: DurableID) -> UInt64? {
        copies[id]?.min { $0.key < $1.key }.flatMap { copy in
            copy.value.frame.dropFirst(FrameHeader.size).withUnsafeBytes { bytes in
                try? Delivery(reading: bytes).stamp.timeMicroseconds
            }
        }
    }
}

extension FakeStore.Message {
    func matches(_ filter: SubscriptionFilter, _ access: ReadAccess) -> Bool {
        if let wanted = filter.object, Array(wanted.utf8) != object { return false }
        let isNamed = name.withUnsafeBytes { filter.matches(name: $0) && access.permits($0) }
        guard isNamed, name.withUnsafeBytes({ DeadLetterHeaders.isDeadLetter($0) }) else { return isNamed }
        return frame.withUnsafeBytes { bytes in
            (try? Delivery(reading: bytes.slice(from: FrameHeader.size))).map { access.permits($0.parts) } ?? false
        }
    }
}

extension [FakeStore.Message] {
    fileprivate func firstIndex(after sequence: UInt64) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle].sequence > sequence { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

extension LogBlock {
    fileprivate mutating func append(_ message: FakeStore.Message) {
        append(message.frame, message.sequence)
    }

    fileprivate mutating func append(_ frame: [UInt8], _ sequence: UInt64) {
        entries.append(
            Entry(sequence: sequence, offset: UInt32(frames.writerIndex), length: UInt32(frame.count)))
        frames.writeBytes(frame)
    }
}
