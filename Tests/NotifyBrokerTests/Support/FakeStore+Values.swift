import NIOCore
import NotifyLog
import NotifyWire

@testable import NotifyBroker

/// The values of the log.
extension FakeStore {
    /// A value, or the mark of a cleared one.
    struct Value {
        let number: UInt64
        let isCleared: Bool
        let message: Message
    }

    /// Sets and clears the values of a batch, whose messages are stored already.
    func changeValues(_ batch: CommitBatch) {
        var last: UInt64 = 0
        for change in batch.values {
            if change.sequence <= last { violations.append("value \(change.sequence) after \(last)") }
            last = change.sequence
            guard let message = messages.last(where: { $0.sequence == change.sequence }) else {
                violations.append("value \(change.sequence) has no message in its batch")
                continue
            }
            if let old = values[change.number] {
                if old.message.name != message.name || old.message.object != message.object {
                    violations.append("number \(change.number) changes its name or object")
                }
            } else if values.values.contains(where: {
                $0.message.name == message.name && $0.message.object == message.object
            }) {
                violations.append("the name of value \(change.sequence) has two numbers")
            }
            values[change.number] = Value(number: change.number, isCleared: change.isCleared, message: message)
        }
        for number in batch.forgottenValues.numbers {
            if values[number]?.isCleared == false { violations.append("value \(number) is forgotten") }
            values[number] = nil
        }
        forgottenThrough = max(forgottenThrough, batch.forgottenValues.through)
    }

    /// The values that a start finds.
    var storedValues: StoredValues {
        var stored = StoredValues()
        stored.values = values.values.sorted { $0.number < $1.number }.map { value in
            value.message.name.withUnsafeBytes { name in
                value.message.object.withUnsafeBytes { object in
                    let keys = ValueName(name: name, object: object)
                    return StoredValue(
                        key: keys.key, nameKey: keys.nameKey, number: value.number, sequence: value.message.sequence,
                        uid: value.message.uid, bytes: value.bytes, isCleared: value.isCleared,
                        timeMicroseconds: value.message.time)
                }
            }
        }
        stored.lastNumber = values.keys.max() ?? 0
        stored.forgottenThrough = forgottenThrough
        return stored
    }

    /// Reads a page of values.
    func readValues(_ request: PageRequest, _ selection: PageRequest.Values) -> Page.Content {
        let ordered: [(position: UInt64, value: Value)]
        let end: UInt64
        switch selection {
        case .numbers(let numbers):
            ordered = numbers.compactMap { number in values[number].map { (number, $0) } }
            end = request.through
        case .byNumber:
            ordered = values.values.map { ($0.number, $0) }.sorted { $0.0 < $1.0 }
            end = request.through
        case .bySequence:
            ordered = values.values.map { ($0.message.sequence, $0) }.sorted { $0.0 < $1.0 }
            end = max(persistedThrough, request.after)
        }
        var content = Page.Content(block: LogBlock(), scannedThrough: request.after)
        var rowsLeft = valueRowsPerPage
        for (position, value) in ordered where position > request.after && position <= request.through {
            guard content.block.entries.count < min(request.maximumMessages, valuesPerPage), rowsLeft > 0 else {
                return content
            }
            rowsLeft -= 1
            content.scannedThrough = position
            if damagedValues.contains(value.number) {
                content.damaged.append(position)
                continue
            }
            if selection != .bySequence, value.isCleared { continue }
            guard value.message.matches(request.filter, request.access) else { continue }
            content.block.entries.append(
                .init(
                    sequence: value.message.sequence, offset: UInt32(content.block.frames.writerIndex),
                    length: UInt32(value.message.frame.count)))
            content.block.frames.writeBytes(value.message.frame)
        }
        content.scannedThrough = end
        return content
    }
}

extension FakeStore.Value {
    fileprivate var bytes: Int {
        message.frame.withUnsafeBytes { bytes in
            guard let delivery = try? Delivery(reading: bytes.slice(from: FrameHeader.size)) else { return 0 }
            return StoredValue.bytes(
                name: delivery.parts.name.count, object: delivery.parts.object.count,
                headers: delivery.parts.headers.count, payload: delivery.parts.payload.count)
        }
    }
}
