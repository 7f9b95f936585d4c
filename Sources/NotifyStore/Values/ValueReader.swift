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
            let rows = statements.byNumber
            defer { rows.reset() }
            try rows.bind(1, min(request.after, UInt64(Int64.max)))
            try rows.bind(2, min(request.through, UInt64(Int64.max)))
            if try scan(rows, positionColumn: 0) { scannedThrough = request.through }
        case .bySequence:
            let rows = statements.bySequence
            defer { rows.reset() }
            try rows.bind(1, min(request.after, UInt64(Int64.max)))
            // A batch that was reported as failed may have left values with higher sequences.
            try rows.bind(2, log.persistedThrough)
            if try scan(rows, positionColumn: 1) { scannedThrough = max(log.persistedThrough, request.after) }
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
        let row = statements.readKey
        defer { row.reset() }
        try row.bind(1, number)
        rowsLeft -= 1
        guard try row.step() else {
            scannedThrough = number
            return true
        }
        return try take(row, position: number, includesCleared: false)
    }

    /// Reads rows in their order. Returns false if the page reaches a limit before the end.
    private mutating func scan(_ rows: PreparedStatement, positionColumn: Int32) throws -> Bool {
        while hasRoom {
            guard try rows.step() else { return true }
            rowsLeft -= 1
            log.pageCaches.work.rowsScanned += 1
            let position = rows.integer(positionColumn)
            guard position > scannedThrough else {
                throw StorageFailure(kind: .damaged, message: "it has values out of order")
            }
            guard try take(rows, position: position, includesCleared: positionColumn == 1) else { return false }
        }
        return false
    }

    /// Appends the value of a row to the page, if it matches. Returns false if it does not fit.
    private mutating func take(_ row: PreparedStatement, position: UInt64, includesCleared: Bool) throws -> Bool {
        guard let value = ValueRow(row) else {
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
            try append(value, position: position)
        }
        scannedThrough = position
        return true
    }

    private mutating func append(_ value: ValueRow, position: UInt64) throws {
        let start = block.frames.writerIndex
        if request.omitsPayloads {
            Delivery.append(value.stamp, value.parts, to: &block.frames)
        } else {
            let row = statements.readOne
            defer { row.reset() }
            try row.bind(1, value.number)
            guard try row.step(), let whole = ValueRow(row), whole.stamp.sequence == value.stamp.sequence,
                whole.append(row, to: &block.frames)
            else {
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
