import NotifyLog
import NotifyWire

/// Writes the changes of values that a batch makes.
///
/// The first value of a name and object gets a row at once, because rows with new numbers are appended to the table.
/// Other changes are only recorded, because changing rows in any order would take longer than storing the messages.
struct ValueWriter {
    private var rest: ArraySlice<ValueChange>
    /// The highest number that had a row before the batch.
    private let earlierNumber: UInt64
    private(set) var lastNumber: UInt64
    private(set) var recorded: [UnappliedValues.Change] = []

    /// - Parameters:
    ///   - changes: In ascending order of sequence.
    ///   - lastNumber: The highest number that has a row.
    init(_ changes: [ValueChange], lastNumber: UInt64) {
        rest = changes[...]
        earlierNumber = lastNumber
        self.lastNumber = lastNumber
    }

    /// Writes the change that a message makes, if it makes one. Called for each message of the batch, in their order.
    ///
    /// - Parameter body: The body of the message's frame.
    mutating func write(
        _ message: Delivery, _ body: UnsafeRawBufferPointer, _ statements: ValueStatements
    ) throws {
        guard let change = rest.first, change.sequence == message.stamp.sequence else { return }
        rest.removeFirst()
        guard change.number <= earlierNumber else {
            try ValueRow.set(change, to: message, body, with: statements.set)
            lastNumber = max(lastNumber, change.number)
            return
        }
        let parts = message.parts
        let bytes = StoredValue.bytes(
            name: parts.name.count, object: parts.object.count, headers: parts.headers.count,
            payload: parts.payload.count)
        recorded.append(UnappliedValues.Change(change: change, bytes: bytes))
    }

    /// Writes the record of the changes.
    func finish(_ statements: ValueStatements) throws {
        guard !recorded.isEmpty else { return }
        try ValueChangesRow(recorded.map(\.change)).write(with: statements.record)
    }
}
