import NIOCore
import NotifyLog
import NotifyWire

/// Reads one page of values. All work is bounded, as in ``PageReader``.
struct ValueReader {
    private let log: Log
    private let statements: ValueStatements
    private let request: PageRequest
    private let object: [UInt8]?
    private var block = LogBlock()
    private var damaged: [UInt64] = []
    private var scannedThrough: UInt64
    private var rowsLeft: Int
    /// The last name that was compared with the filter and the rights, and the result.
    private var lastName: (bytes: [UInt8], isMatch: Bool) = ([], false)

    init(_ request: PageRequest, log: Log) throws(StorageFailure) {
        self.log = log
        self.request = request
        statements = try log.openStatements().values
        object = request.filter.object.map { Array($0.utf8) }
        scannedThrough = request.after
        rowsLeft = log.options.pageRows
    }

    consuming func read(_ values: PageRequest.Values) throws -> Page.Content {
        switch values {
        case .numbers(let numbers):
            if try read(numbers) { scannedThrough = request.through }
        case .byNumber:
            if try readByNumber() { scannedThrough = request.through }
        case .bySequence:
            if try readBySequence() { scannedThrough = max(log.persistedThrough, request.after) }
        }
        return Page.Content(block: block, scannedThrough: scannedThrough, damaged: damaged)
    }

    private var hasRoom: Bool { rowsLeft > 0 && block.entries.count < request.maximumMessages }

    /// Reads the values with these numbers. Returns false if the page reaches a limit before the last one.
    private mutating func read(_ numbers: [UInt64]) throws -> Bool {
        for number in numbers where number > request.after && number <= request.through {
            guard hasRoom, try read(number) else { return false }
        }
        return true
    }

    /// - Returns: False if the value does not fit into the page.
    private mutating func read(_ number: UInt64) throws -> Bool {
        let row = statements.readPage
        defer { row.reset() }
        try row.bind(1, number)
        rowsLeft -= 1
        let hasRow = try row.step()
        if let change = log.values.change(of: number, newerThan: hasRow ? row.integer(1) : nil) {
            return try take(change, position: number)
        }
        guard hasRow else {
            scannedThrough = number
            return true
        }
        return try take(ValueRow(row), row, position: number)
    }

    /// Reads values in the order of their numbers. Returns false if the page reaches a limit before the end.
    private mutating func readByNumber() throws -> Bool {
        let rows = statements.byNumber
        defer { rows.reset() }
        try rows.bind(1, min(request.after, UInt64(Int64.max)))
        try rows.bind(2, min(request.through, UInt64(Int64.max)))
        while hasRoom {
            guard try rows.step() else { return true }
            countRow()
            let number = rows.integer(0)
            try checkOrder(number)
            let change = log.values.change(of: number, newerThan: rows.integer(1))
            guard try change.map({ try take($0, position: number) }) ?? take(ValueRow(rows), rows, position: number)
            else {
                return false
            }
        }
        return false
    }

    /// Reads the last change of each value in the order of sequences: from rows, and from messages whose values are not
    /// in the rows yet. Returns false if the page reaches a limit before the end.
    private mutating func readBySequence() throws -> Bool {
        let rows = statements.bySequence
        defer { rows.reset() }
        try rows.bind(1, min(request.after, UInt64(Int64.max)))
        try rows.bind(2, log.persistedThrough)
        var changes = log.values.changes(after: request.after).makeIterator()
        var change = changes.next()
        var hasRow = try rows.step()
        while hasRoom {
            guard hasRow || change != nil else { return true }
            countRow()
            let sequence = hasRow ? rows.integer(1) : .max
            if let next = change, next.sequence < sequence {
                let isTaken = try next.change.map {
                    try take($0.change, position: next.sequence, includesCleared: true)
                }
                guard isTaken ?? true else { return false }
                scannedThrough = next.sequence
                change = changes.next()
                continue
            }
            try checkOrder(sequence)
            if change?.sequence == sequence { change = changes.next() }
            if log.values.change(of: rows.integer(0), newerThan: sequence) != nil {
                scannedThrough = sequence
            } else if try !take(ValueRow(rows), rows, position: sequence, includesCleared: true) {
                return false
            }
            hasRow = try rows.step()
        }
        return false
    }

    private mutating func countRow() {
        rowsLeft -= 1
        log.pageCaches.work.rowsScanned += 1
    }

    private func checkOrder(_ position: UInt64) throws {
        guard position > scannedThrough else {
            throw StorageFailure(kind: .damaged, message: "it has values out of order")
        }
    }

    /// Appends the value of a change to the page, if it matches. Returns false if it does not fit.
    private mutating func take(_ change: ValueChange, position: UInt64, includesCleared: Bool = false) throws -> Bool {
        try statements.withMessage(of: change, isWhole: false) { value, row in
            try take(value, row, position: position, includesCleared: includesCleared)
        }
    }

    /// Appends a value to the page, if it matches. Returns false if it does not fit.
    ///
    /// - Parameters:
    ///   - value: Nil if it is damaged.
    ///   - row: The row of the value, which has small content.
    private mutating func take(
        _ value: ValueRow?, _ row: PreparedStatement, position: UInt64, includesCleared: Bool = false
    ) throws -> Bool {
        guard let value else {
            damaged.append(position)
            scannedThrough = position
            return true
        }
        if matches(value), includesCleared || !value.isCleared {
            let length =
                FrameHeader.size + Delivery.fixedSize + value.parts.byteCount
                + (request.omitsPayloads ? 0 : Int(value.headersLength + value.payloadLength))
            guard block.entries.isEmpty || block.frames.writerIndex + length <= log.options.pageBytes else {
                return false
            }
            try append(value, row, position: position)
        }
        scannedThrough = position
        return true
    }

    private mutating func append(_ value: ValueRow, _ row: PreparedStatement, position: UInt64) throws {
        let start = block.frames.writerIndex
        if request.omitsPayloads {
            Delivery.append(value.stamp, value.parts, to: &block.frames)
        } else {
            guard try appendContent(of: value, row) else {
                damaged.append(position)
                return
            }
            // A dead letter that is a value needs the right to its original message, too.
            guard permitsOriginal(from: start) else { return block.frames.moveWriterIndex(to: start) }
        }
        block.entries.append(
            LogBlock.Entry(
                sequence: value.stamp.sequence, offset: UInt32(start), length: UInt32(block.frames.writerIndex - start)
            ))
    }

    /// Appends the whole message of a value to the page. Returns false if it is damaged.
    private mutating func appendContent(of value: ValueRow, _ row: PreparedStatement) throws -> Bool {
        if value.isSmall { return value.append(row, to: &block.frames) }
        if value.isFromMessage {
            return try statements.withMessage(of: value.change, isWhole: true) { whole, row in
                whole?.append(row, to: &block.frames) ?? false
            }
        }
        let row = statements.readOne
        defer { row.reset() }
        try row.bind(1, value.number)
        guard try row.step(), let whole = ValueRow(row), whole.stamp.sequence == value.stamp.sequence else {
            return false
        }
        return whole.append(row, to: &block.frames)
    }

    private func permitsOriginal(from start: Int) -> Bool {
        block.frames.withUnsafeReadableBytes { bytes in
            guard let message = try? Delivery(reading: bytes.slice(from: start + FrameHeader.size)) else {
                return false
            }
            return request.access.permitsOriginal(of: message.parts)
        }
    }

    private mutating func matches(_ value: ValueRow) -> Bool {
        if let object, !value.object.elementsEqual(object) { return false }
        if !lastName.bytes.isEmpty, value.name.elementsEqual(lastName.bytes) { return lastName.isMatch }
        lastName = (
            Array(value.name), request.filter.matches(name: value.name) && request.access.permits(value.name)
        )
        return lastName.isMatch
    }
}
